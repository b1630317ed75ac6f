// The implementation of Communicator, and how to make one over any transport.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/system/forked.h"
#include "bp/communicator.h"
#include "comm/backend/backends.h"
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
  // The server of the job's store, on rank 0 of a job that an engine started; else null. finish()
  // waits until the other ranks have left it.
  [[nodiscard]] StoreHost* host() const { return host_.get(); }
  void serves(std::shared_ptr<StoreHost> host) { host_ = std::move(host); }
  [[nodiscard]] const ProcessMark& process() const { return process_; }
  // For every call that uses a thread, a lock or a connection: throws invalid_argument in a process
  // that was forked from the one that made the communicator.
  void refuse_in_child(std::string_view called) const {
    process_.refuse_elsewhere(called, "communicator");
  }

 private:
  const Topology topology_;
  const CommunicatorOptions options_;
  const ProcessMark process_;
  std::shared_ptr<StoreHost> host_;
  Engine engine_;
};

// What a world is made of. All parts belong to the rank and the job of the topology.
struct WorldParts {
  std::shared_ptr<Store> store = {};  // null for a job of one rank
  std::unique_ptr<Transport> transport = {};
  std::string transport_name = {};
  std::unique_ptr<Backend> backend = {};  // null: make_backend() chooses
  DeviceBackend devices = DeviceBackend::staged;
  std::shared_ptr<SharedHost> shared = {};  // null: ranks of a host share no memory
  SelectionTable measured = {};
  SegmentLimits segments = kSegments;
  std::size_t shared_chunk = SharedChannel::kChunk;
  std::shared_ptr<Trace> trace = {};     // may be null
  std::string name = "world";            // unique in the job
  std::vector<int> launcher_ranks = {};  // the launcher's numbers; empty: the same as the ranks
};

[[nodiscard]] Communicator make_world(Topology topology,
                                      CommunicatorOptions options,
                                      WorldParts parts,
                                      std::chrono::milliseconds stall_after = kStall);

// Returns the part of an engine's setup that comes from the options.
[[nodiscard]] EngineSetup setup_of(const CommunicatorOptions& options,
                                   const SelectionTable& measured);

// Communicator::split, with other options for the group.
[[nodiscard]] Communicator split_with(Communicator& comm, int color, CommunicatorOptions options);

// Returns the part of `parent` that holds `members`: ranks of it, ascending, with this rank.
[[nodiscard]] Topology topology_of_group(const Topology& parent, const std::vector<int>& members);

}  // namespace bp
