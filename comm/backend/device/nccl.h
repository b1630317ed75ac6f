// Makes the backend of device memory: NCCL where it can serve, and copies by way of host memory
// (StagedBackend) elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "comm/backend/common/backend.h"

namespace bp {

// The choice of a backend for the memory of CUDA devices.
enum class DeviceBackend : std::uint8_t {
  staged,
  nccl_or_staged,  // NCCL where each rank uses a device of its own
  nccl,
};

// Returns the backend of device memory. `host` and `piece` are those of StagedBackend.
[[nodiscard]] std::unique_ptr<Backend> make_device_backend(DeviceBackend chosen,
                                                           Backend& host,
                                                           std::size_t piece);

}  // namespace bp
