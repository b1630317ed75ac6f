// The backend of ranks that send messages: it carries out the schedules of comm/schedule over any
// transport, with the kernels of comm/reduce.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bp/communicator.h"
#include "comm/backend/common/algorithm.h"
#include "comm/backend/common/backend.h"
#include "comm/backend/common/selection.h"
#include "comm/backend/shared/shared_vectors.h"
#include "comm/device/scratch.h"
#include "comm/schedule/segments.h"

namespace bp {

// Over TCP by Gloo a message costs two or three thread switches at each end, so segments are longer
// than would be best for caches. Segments of 1 MiB take a third of the context switches that 256
// KiB take, and the same CPU time per byte (64 MiB, 2 ranks).
inline constexpr SegmentLimits kSegments{.max_bytes = std::size_t{1} << 20};

// The parts of which make_backend() makes a backend. All but the name of the transport, the arena
// and the channels must be the same on all ranks.
struct BackendParts {
  Topology topology;             // of the communicator
  std::string algorithm;         // CommunicatorOptions::algorithm
  std::string transport;         // its name
  SelectionTable measured = {};  // decides if the program asks for no algorithm
  SegmentLimits segments = kSegments;
  // Null where ranks of one host share no memory, which is so on all hosts or on none.
  std::shared_ptr<SharedHost> shared = nullptr;
  // The memory that each rank of the communicator on this host has given to it (SharedChannel).
  std::vector<PhaseBarrier::Location> channels = {};
  std::size_t shared_chunk = SharedChannel::kChunk;
};

class CpuBackend : public Backend {
 public:
  // `inside`: for the ranks of this host; null if they work by messages.
  CpuBackend(BackendParts parts, std::unique_ptr<Backend> inside);

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view algorithm_of(Operation::Kind kind,
                                              std::size_t bytes) const override;
  void run(const Operation& operation, CollectiveCall& call) override;
  [[nodiscard]] bool is_settled() const override { return !inside_ || inside_->is_settled(); }
  void settle(CollectiveCall& call) override;

 private:
  class OverHosts;

  // Returns the algorithm of an all_reduce. Of others: hierarchical, or automatic for the only one
  // that they have.
  [[nodiscard]] Algorithm choose(Operation::Kind kind, std::size_t bytes) const;
  // In one step, with messages between all ranks of the call.
  void run_flat(const Operation& operation, CollectiveCall& call, Algorithm all_reduce);
  // Inside the hosts and between them; in hierarchical.cc.
  void run_over_hosts(const Operation& operation, CollectiveCall& call);

  const BackendParts parts_;
  const Algorithm algorithm_;  // of all_reduce, as the program asks for
  const std::string name_;
  const Selection selection_;
  const Selection between_hosts_;  // of each of which one rank takes part
  const std::unique_ptr<Backend> inside_;
  const bool others_are_hierarchical_;
  ScratchMemory room_;  // of a leader, for what lies in no rank's output
};

}  // namespace bp
