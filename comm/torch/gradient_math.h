// Arithmetic on reduced gradients whose result does not depend on the number of threads nor on the
// instruction set, so that ranks on unequal machines agree bit for bit.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

#include "bp/types.h"

namespace bp {

// The sum of the squares of all elements, in double precision and in a fixed order. `tensor` is
// floating and dense (any order of strides).
[[nodiscard]] double sum_of_squares(const at::Tensor& tensor);

// No infinity and no NaN among `count` elements of a floating type.
[[nodiscard]] bool all_finite(DataType type, const std::byte* data, std::size_t count);

// into[i] += what[i]
void add(float* into, const float* what, std::size_t count);

// errors[i] = values[i] - (values[i] rounded to `half`), which is exact.
void rounding_errors(DataType half, float* errors, const float* values, std::size_t count);

}  // namespace bp
