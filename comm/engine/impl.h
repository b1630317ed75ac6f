// What stands behind a Communicator, and how to make one over any transport.
#pragma once

#include <memory>
#include <string>

#include "bp/communicator.h"
#include "comm/backend/cpu.h"
#include "comm/backend/shared.h"
#include "comm/engine/engine.h"

namespace bp {

class Communicator::Impl {
 public:
  Impl(Topology topology, CommunicatorOptions options, EngineSetup setup)
      : topology_(std::move(topology)), options_(std::move(options)), engine_(std::move(setup)) {}

  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] const CommunicatorOptions& options() const { return options_; }
  [[nodiscard]] Engine& engine() { return engine_; }
  [[nodiscard]] Job* job() const { return engine_.setup().job.get(); }

 private:
  const Topology topology_;
  const CommunicatorOptions options_;
  Engine engine_;
};

// What a world of several ranks is made of. All of it belongs to the rank and job that the topology
// tells of.
struct WorldParts {
  std::unique_ptr<Store> store;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Backend> backend;
  std::shared_ptr<SharedHost> shared;  // where it is there, it does the work of `backend`
  std::size_t shared_chunk = SharedChannel::kChunk;
};

[[nodiscard]] Communicator make_world(Topology topology,
                                      CommunicatorOptions options,
                                      WorldParts parts,
                                      std::chrono::milliseconds stall_after = kStall);

// Waits in the store until every rank of the job has called this; throws `timeout` naming who has
// not.
void meet(Store& store, int rank, int size, std::chrono::milliseconds timeout);

// The backend for a communicator over a transport called `name`; throws invalid_argument for an
// algorithm that is not there, or that its hosts cannot run.
[[nodiscard]] std::unique_ptr<Backend> make_cpu_backend(const std::string& name,
                                                        const CommunicatorOptions& options,
                                                        const Topology& topology,
                                                        const SegmentLimits& limits = kSegments);

}  // namespace bp
