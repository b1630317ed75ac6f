// A collective as the engine hands it to a backend: checked arguments, no options left open.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bp/types.h"

namespace bp {

struct Operation {
  enum class Kind : std::uint8_t { all_reduce, broadcast, reduce_scatter, all_gather, barrier };

  Kind kind = Kind::barrier;
  ReduceOp reduce = ReduceOp::sum;  // all_reduce, reduce_scatter
  int root = 0;                     // broadcast
  ConstView input;                  // reduce_scatter, all_gather
  View output;                      // all but barrier; in place for all_reduce and broadcast
  std::vector<std::size_t> counts;  // all_gather: the elements of each rank
  std::string name;
  std::chrono::milliseconds timeout{0};

  // The longest vector in it: what all ranks must agree on.
  [[nodiscard]] ConstView whole() const {
    return kind == Kind::reduce_scatter ? input : ConstView(output);
  }
};

[[nodiscard]] constexpr std::string_view name_of(Operation::Kind kind) {
  switch (kind) {
    case Operation::Kind::all_reduce:
      return "all_reduce";
    case Operation::Kind::broadcast:
      return "broadcast";
    case Operation::Kind::reduce_scatter:
      return "reduce_scatter";
    case Operation::Kind::all_gather:
      return "all_gather";
    case Operation::Kind::barrier:
      return "barrier";
  }
  return "unknown collective";
}

// "all_reduce sum of 1000 f32 'loss'", "broadcast of 4 i64 from rank 2": equal exactly where the
// requests are.
[[nodiscard]] std::string describe(const Operation& operation);

}  // namespace bp
