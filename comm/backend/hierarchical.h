// The hierarchical all-reduce of one communicator (comm/schedule/hierarchy.h). Inside a host it
// works in memory that the ranks share, or by messages if they share none; between hosts it works
// by messages.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "comm/backend/collective_call.h"
#include "comm/backend/selection.h"
#include "comm/backend/shared.h"
#include "comm/schedule/segments.h"

namespace bp {

class Hierarchical {
 public:
  // `inside`: for the ranks of this host; null if there is only one, or if they share no memory.
  // `between`: chooses the algorithm between hosts, of each of which one rank takes part.
  Hierarchical(std::vector<int> local_sizes,
               std::unique_ptr<SharedBackend> inside,
               const SegmentLimits& limits,
               Selection between);

  void all_reduce(CollectiveCall& call, View data, ReduceOp op);

 private:
  // `counts`: the elements of each rank of this host, which lie in `data` one after another.
  void reduce_inside(CollectiveCall& call,
                     View data,
                     std::span<const std::size_t> counts,
                     ReduceOp op);
  void gather_inside(CollectiveCall& call, View data, std::span<const std::size_t> counts);

  const std::vector<int> local_sizes_;
  const std::unique_ptr<SharedBackend> inside_;
  const SegmentLimits limits_;
  const Selection between_;
};

}  // namespace bp
