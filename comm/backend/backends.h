// Makes the backend of a communicator.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "comm/backend/common/backend.h"
#include "comm/backend/common/registry.h"
#include "comm/backend/cpu.h"
#include "comm/backend/device/nccl.h"
#include "comm/transport/gloo.h"

namespace bp {

// Returns the backend that the options name, if it works over the job's transport directly. Returns
// null if make_backend() makes it, by what the ranks' hosts share. `chosen` is null for "auto".
// Throws what GlooTransport::connect_all() throws.
[[nodiscard]] std::unique_ptr<Backend> make_chosen_backend(const BackendEntry* chosen,
                                                           GlooTransport& transport);

// The pieces in which device memory is staged, and host memory goes too.
struct StagingPieces {
  std::size_t bytes = 0;            // of a piece; 0: operations go as a whole
  std::string_view algorithm = {};  // what the communicator was created with
};

// Adds `host`, the backend of host memory, and that of devices.
void add_backends(BackendSet& backends,
                  std::unique_ptr<Backend> host,
                  DeviceBackend devices,
                  const StagingPieces& pieces);

// Returns whether Gloo's thread must run as Gloo starts it.
[[nodiscard]] bool runs_gloo_as_packaged(const BackendEntry* chosen);

// Returns the backend for these hosts. Ranks of one host work in the memory that they share. Ranks
// of several hosts send messages, and share memory inside each host. Throws invalid_argument for an
// algorithm that does not exist or that these hosts cannot run.
[[nodiscard]] std::unique_ptr<Backend> make_backend(BackendParts parts);

}  // namespace bp
