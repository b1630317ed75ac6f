// What the ranks put into a collective, and what must come out. All inputs are whole numbers small
// enough that every partial sum is exact in the type, drawn from rank and element; so results
// compare with ==, and an element that is out of place is wrong. They repeat after a prime number
// of elements: no block of a schedule is as long.
#pragma once

#include <cstddef>
#include <vector>

#include "bp/types.h"

namespace bp::bench {

inline constexpr std::size_t kPeriod = 4093;

// What comm_bench reduces a type by: sums, or the largest where the type has no sums (bool).
[[nodiscard]] constexpr ReduceOp reduction_of(DataType type) {
  return can_reduce(ReduceOp::sum, type) ? ReduceOp::sum : ReduceOp::max;
}

// Elements first..first+count of rank r's input; of the reduction of all ranks' inputs, a sum times
// `ranks` to the power of `more`: what an all-reduce in place leaves that is called again `more`
// times.
[[nodiscard]] std::vector<std::byte> input_of(
    DataType type, int r, int ranks, std::size_t first, std::size_t count);
[[nodiscard]] std::vector<std::byte> reduced_inputs(
    DataType type, int ranks, std::size_t first, std::size_t count, int more = 0);

// The largest `more` for which that is exact. 0 where the type leaves no room.
[[nodiscard]] int most_repetitions(DataType type, int ranks);

// A stretch of memory, one period of which says what it holds.
struct Pattern {
  std::size_t bytes = 0;
  std::vector<std::byte> period;

  void write(std::byte* to) const;
  [[nodiscard]] std::size_t wrong_elements(const std::byte* found, DataType type) const;
};

}  // namespace bp::bench
