// A collective, or a message, as the engine gives it to a backend: its arguments are checked, and
// its options are final.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bp/types.h"

namespace bp {

class DeviceEvent;

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
    all_reduce_int8,
    join,
  };

  Kind kind = Kind::barrier;
  Device device = {};  // of all its memory
  // The work on the device that must be done before; null: none. A backend waits for it
  // (CollectiveCall::wait_for_device) before it touches the memory, or lets the device do so.
  std::shared_ptr<const DeviceEvent> after = nullptr;
  ReduceOp reduce = ReduceOp::sum;  // all_reduce, reduce_scatter, reduce
  int root = 0;                     // broadcast, reduce, gather, scatter; of a message: its sender
  int receiver = 0;                 // of a message
  int tag = 0;                      // of a message
  bool at_most = false;             // of a receive: the message may be shorter
  // What a rank gives and what it gets. all_reduce, broadcast and reduce work in place and have one
  // view for both, `output`. A view in which this rank has no part is empty, such as the `output`
  // of a gather on ranks other than the root. Of a message one view is empty, and both have its
  // type.
  ConstView input = {};
  View output = {};
  // The number of elements of each rank: all_gather, gather, scatter, reduce_scatter. all_to_all:
  // the number that goes to each rank.
  std::vector<std::size_t> counts = {};
  std::vector<std::size_t> receive_counts = {};  // all_to_all: the number that comes from each rank
  std::vector<View> group = {};                  // all_reduce_grouped: its tensors
  std::byte* errors = nullptr;  // all_reduce_int8: f32, as many as `output`; or null
  double prescale = 1;          // of a reduction
  double postscale = 1;
  int contributors = 0;  // the number of ranks that an average is over; 0: all
  std::string name = {};
  std::chrono::milliseconds timeout{0};

  // Returns the longest vector in it, as far as all ranks must agree on it. `data` may be null;
  // only type and count have a meaning.
  [[nodiscard]] ConstView whole() const;
  [[nodiscard]] std::size_t bytes() const;  // of the caller's views
  // True if its results are numbers that ranks compute, and not only copies of what they give.
  [[nodiscard]] bool computes() const;
  [[nodiscard]] bool is_scaled() const { return prescale != 1 || postscale != 1; }
};

[[nodiscard]] std::string_view name_of(Operation::Kind kind);

// Returns "all_reduce sum of 1000 f32 'loss'" or "broadcast of 4 i64 from rank 2". Two texts are
// equal exactly if the requests are.
[[nodiscard]] std::string describe(const Operation& operation);

}  // namespace bp
