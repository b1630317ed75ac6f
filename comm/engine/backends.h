// Which backend the ranks of a communicator get.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bp/communicator.h"
#include "comm/backend/backend.h"
#include "comm/backend/cpu.h"
#include "comm/backend/registry.h"
#include "comm/backend/shared.h"
#include "comm/transport/gloo.h"

namespace bp {

struct BackendParts {
  Topology topology;      // of the communicator
  std::string algorithm;  // as asked for
  std::string transport;  // its name
  SelectionTable measured = {};
  SegmentLimits segments = kSegments;
  // Null where ranks of one host share no memory, which is so on all hosts or on none.
  std::shared_ptr<SharedHost> shared = nullptr;
  // Of the communicator's ranks on this host: what each has given to it (SharedChannel).
  std::vector<PhaseBarrier::Place> channels = {};
  std::size_t shared_chunk = SharedChannel::kChunk;
};

// The backend that the options name, over a transport of its own; null where make_backend() makes
// it, or chooses, by what the ranks' hosts share. `chosen` is null for "auto".
[[nodiscard]] std::unique_ptr<Backend> make_chosen_backend(const BackendEntry* chosen,
                                                           GlooTransport& transport);

// Whether Gloo's thread is left as Gloo starts it.
[[nodiscard]] bool runs_gloo_as_packaged(const BackendEntry* chosen);

// Ranks of one host work in the memory they share; ranks of several hosts send messages, and share
// memory inside each. Throws invalid_argument for an algorithm that is not there or that these
// hosts cannot run.
[[nodiscard]] std::unique_ptr<Backend> make_backend(BackendParts parts);

}  // namespace bp
