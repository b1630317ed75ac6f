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
  enum class Kind : std::uint8_t {
    all_reduce,
    broadcast,
    reduce_scatter,
    all_gather,
    barrier,
    reduce,
    gather,
    scatter,
    all_to_all,
    all_to_all_v,
    message,  // between two ranks only
    all_reduce_grouped,
    join,
  };

  Kind kind = Kind::barrier;
  ReduceOp reduce = ReduceOp::sum;  // all_reduce, reduce_scatter, reduce
  int root = 0;          // broadcast, reduce, gather, scatter; of a message: who sends it
  int receiver = 0;      // of a message
  int tag = 0;           // of a message
  bool at_most = false;  // of a receive: the message may be shorter
  // What a rank gives and what it gets. One view for both, `output`, where it happens in place:
  // all_reduce, broadcast, reduce. Empty where a rank has no part, as `output` of a gather but at
  // root; of a message one is empty, and both have its type.
  ConstView input;
  View output;
  // The elements of each rank: all_gather, gather, scatter, reduce_scatter. all_to_all: those that
  // go to each rank.
  std::vector<std::size_t> counts;
  std::vector<std::size_t> receive_counts;  // all_to_all: those that come from each rank
  std::vector<View> group;                  // all_reduce_grouped: its tensors
  double prescale = 1;                      // where there is a reduction
  double postscale = 1;
  int contributors = 0;  // an average is over so many ranks; 0: all
  std::string name;
  std::chrono::milliseconds timeout{0};

  // The longest vector in it, as far as all ranks must agree on it; where `data` is null it is the
  // number of elements that counts.
  [[nodiscard]] ConstView whole() const;
  [[nodiscard]] std::size_t bytes() const;  // of the caller's views
  [[nodiscard]] bool is_scaled() const { return prescale != 1 || postscale != 1; }
};

[[nodiscard]] std::string_view name_of(Operation::Kind kind);

// "all_reduce sum of 1000 f32 'loss'", "broadcast of 4 i64 from rank 2": equal exactly where the
// requests are.
[[nodiscard]] std::string describe(const Operation& operation);

}  // namespace bp
