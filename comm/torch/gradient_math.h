// Arithmetic on reduced gradients. Its results do not depend on the number of threads or the
// instruction set, so ranks on unequal machines agree bit for bit. Needs no LibTorch.
#pragma once

#include <cstddef>
#include <vector>

#include "bp/types.h"

namespace bp {

// Returns the sum of the squares of `count` elements of a floating type, in double precision and in
// a fixed order. `data` must have the type's alignment.
[[nodiscard]] double sum_of_squares(DataType type, const std::byte* data, std::size_t count);

// The ways to sum the squares of f32, one for each instruction set that the compiler knows. They
// give the same bits; sum_of_squares() takes the first that this processor supports, and the last
// runs everywhere.
struct SquaresOfFloats {
  const char* instruction_set = "";
  bool is_supported = false;
  double (*sum)(const float* x, std::size_t count) = nullptr;
};
[[nodiscard]] std::vector<SquaresOfFloats> ways_to_square_floats();

// into[i] += what[i]
void add(float* into, const float* what, std::size_t count);

// errors[i] = values[i] - (values[i] rounded to `half`), which is exact.
void rounding_errors(DataType half, float* errors, const float* values, std::size_t count);

}  // namespace bp
