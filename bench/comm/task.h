// The collectives that comm_bench knows. A task is one of them at one size: its memory, what to
// call, and the one right result. All inputs are whole numbers small enough that every partial sum
// is exact in the type, drawn from rank and element; so results compare with ==, and an element
// that is out of place is wrong.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "bp/communicator.h"
#include "bp/types.h"

namespace bp::bench {

inline constexpr std::array kTypes = {DataType::u8,  DataType::i8,   DataType::i32, DataType::i64,
                                      DataType::f16, DataType::bf16, DataType::f32, DataType::f64};

struct Task {
  std::size_t bytes = 0;      // S of bench/README.md, after rounding to whole elements
  double bus_factor = 0;      // bus bandwidth = algorithm bandwidth times this
  std::function<void()> run;  // the collective
  Buffer input;               // restored from `original` before each run
  Buffer output;              // empty where the collective works in place
  std::vector<std::byte> original;
  std::vector<std::byte> expected;  // what must stand in the result afterwards
  DataType type = DataType::u8;

  void restore();
  [[nodiscard]] std::size_t wrong_elements() const;
};

[[nodiscard]] std::vector<std::string> operation_names();

// `op` is one of operation_names(); `bytes` is rounded down to whole elements, at least one for
// each rank where each has a share.
[[nodiscard]] Task make_task(Communicator& comm,
                             const std::string& op,
                             DataType type,
                             std::size_t bytes);

// Elements first..first+count of rank r's input; of the sum of all ranks' inputs.
[[nodiscard]] std::vector<std::byte> input_of(
    DataType type, int r, int ranks, std::size_t first, std::size_t count);
[[nodiscard]] std::vector<std::byte> sum_of_inputs(DataType type,
                                                   int ranks,
                                                   std::size_t first,
                                                   std::size_t count);

}  // namespace bp::bench
