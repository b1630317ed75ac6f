// What the ranks put into a collective, and what must come out. All inputs are whole numbers that
// depend on rank and element. They are so small that every partial sum is exact in the type, so
// results compare with ==, and an element in the wrong place differs. Inputs repeat after a prime
// number of elements, which is the length of no block of a schedule.
#pragma once

#include <cstddef>
#include <vector>

#include "bp/types.h"

namespace bp::bench {

inline constexpr std::size_t kPeriod = 4093;

// Returns the reduction that comm_bench measures: the sum, or the maximum for a type without sums
// (bool).
[[nodiscard]] constexpr ReduceOp reduction_of(DataType type) {
  return can_reduce(ReduceOp::sum, type) ? ReduceOp::sum : ReduceOp::max;
}

// Both return elements first..first+count: input_of() of rank r's input, reduced_inputs() of the
// reduction of all ranks' inputs. `more` multiplies a sum by `ranks` to the power of `more`, which
// is the result of an all-reduce in place that is called `more` times again.
[[nodiscard]] std::vector<std::byte> input_of(
    DataType type, int r, int ranks, std::size_t first, std::size_t count);
[[nodiscard]] std::vector<std::byte> reduced_inputs(
    DataType type, int ranks, std::size_t first, std::size_t count, int more = 0);

// Returns the largest `more` for which that is exact, or 0 if the type leaves no room.
[[nodiscard]] int most_repetitions(DataType type, int ranks);

// A stretch of memory, and what it holds: one period, again and again.
struct Pattern {
  std::size_t bytes = 0;
  std::vector<std::byte> period;

  void write(std::byte* to) const;
  [[nodiscard]] std::size_t wrong_elements(const std::byte* found, DataType type) const;
};

}  // namespace bp::bench
