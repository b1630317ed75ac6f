// The reductions of the fake NCCL.
#pragma once

#include <array>
#include <cstddef>

namespace fake_nccl {

enum Reduction { sum = 0, product = 1, largest = 2, smallest = 3, average = 4 };

[[nodiscard]] std::size_t size_of(int type);  // by NCCL's number

// A number of one of NCCL's types.
struct Scalar {
  int type = 0;
  std::array<std::byte, 8> bytes = {};
};
// Multiplies `count` elements of its type by it, with one rounding each.
void multiply(const Scalar& scalar, std::byte* data, std::size_t count);

// Combines `count` elements of the ranks, in their order, as NCCL's reduction of this number does:
// an average multiplies each element by 1 / ranks.
void combine(int type,
             int reduction,
             int ranks,
             const std::byte* const* from,
             std::byte* to,
             std::size_t count);

}  // namespace fake_nccl
