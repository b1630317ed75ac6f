// What stands behind a Communicator, and how to make one over any transport.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bp/communicator.h"
#include "comm/engine/backends.h"
#include "comm/engine/engine.h"
#include "comm/rendezvous/store_host.h"

namespace bp {

class Communicator::Impl {
 public:
  Impl(Topology topology, CommunicatorOptions options, EngineSetup setup)
      : topology_(std::move(topology)), options_(std::move(options)), engine_(std::move(setup)) {}

  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] const CommunicatorOptions& options() const { return options_; }
  [[nodiscard]] Engine& engine() { return engine_; }
  [[nodiscard]] Job* job() const { return engine_.setup().job.get(); }
  // Rank 0's of a job that an engine started, else null; finish() waits for the others by it.
  [[nodiscard]] StoreHost* host() const { return host_.get(); }
  void serves(std::shared_ptr<StoreHost> host) { host_ = std::move(host); }

 private:
  const Topology topology_;
  const CommunicatorOptions options_;
  std::shared_ptr<StoreHost> host_;
  Engine engine_;
};

// What a world of several ranks is made of. All of it belongs to the rank and job that the topology
// tells of.
struct WorldParts {
  std::shared_ptr<Store> store = {};  // null for a rank that is alone from the start
  std::unique_ptr<Transport> transport = {};
  std::string transport_name = {};
  std::unique_ptr<Backend> backend = {};    // null: what fits (backends.h)
  std::shared_ptr<SharedHost> shared = {};  // null: ranks of one host share no memory
  SelectionTable measured = {};
  SegmentLimits segments = kSegments;
  std::size_t shared_chunk = SharedChannel::kChunk;
  std::shared_ptr<Trace> trace = {};     // may be null
  std::string name = "world";            // unique in the job
  std::vector<int> launcher_ranks = {};  // what the launcher calls the ranks; empty: the same
};

[[nodiscard]] Communicator make_world(Topology topology,
                                      CommunicatorOptions options,
                                      WorldParts parts,
                                      std::chrono::milliseconds stall_after = kStall);

// The part of an engine's setup that every communicator of a job has from its options.
[[nodiscard]] EngineSetup setup_of(const CommunicatorOptions& options,
                                   const SelectionTable& measured);

// Communicator::split, with other options for the group.
[[nodiscard]] Communicator split_with(Communicator& comm, int color, CommunicatorOptions options);

// The part of `parent` that holds `members` (its ranks, ascending, ours among them).
[[nodiscard]] Topology topology_of_group(const Topology& parent, const std::vector<int>& members);

}  // namespace bp
