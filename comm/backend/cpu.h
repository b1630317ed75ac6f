// The backend of ranks that send messages: it carries out the schedules of comm/schedule over any
// transport, with the kernels of comm/reduce.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/backend/common/algorithm.h"
#include "comm/backend/common/backend.h"
#include "comm/backend/common/selection.h"
#include "comm/backend/shared/shared.h"
#include "comm/schedule/segments.h"

namespace bp {

// Over TCP by Gloo a message costs two or three thread switches at each end, so segments are longer
// than would be best for caches. Segments of 1 MiB take a third of the context switches that 256
// KiB take, and the same CPU time per byte (64 MiB, 2 ranks).
inline constexpr SegmentLimits kSegments{.max_bytes = std::size_t{1} << 20};

// All but `transport` must be the same on all ranks.
struct CpuSetup {
  std::string transport;                       // its name
  Algorithm algorithm = Algorithm::automatic;  // of all_reduce, as the program asks for
  std::vector<int> local_sizes;                // the communicator's ranks on each host
  bool shares_memory = false;                  // whether the ranks of each host do
  SegmentLimits limits = kSegments;
  SelectionTable measured;  // decides if the program asks for no algorithm
};

class CpuBackend : public Backend {
 public:
  // `inside`: for the ranks of this host; null if there is only one, or if they share no memory.
  CpuBackend(CpuSetup setup, std::unique_ptr<SharedBackend> inside);

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view algorithm_of(Operation::Kind kind,
                                              std::size_t bytes) const override;
  void run(const Operation& operation, CollectiveCall& call) override;

 private:
  [[nodiscard]] Algorithm all_reduce_algorithm(std::size_t bytes) const;
  void hierarchical_all_reduce(CollectiveCall& call, View data, ReduceOp op);

  const CpuSetup setup_;
  const std::string name_;
  const Selection selection_;
  const Selection between_hosts_;  // of each of which one rank takes part
  const std::unique_ptr<SharedBackend> inside_;
};

}  // namespace bp
