// The memory of a CUDA device.
#pragma once

#include "comm/device/device_memory.h"

namespace bp {

// Returns how many CUDA devices this process sees, at least 1. Throws `unavailable` if there is
// none.
[[nodiscard]] int count_cuda_devices();

// Returns the memory of the device with this index. Throws `unavailable` if this process has no
// such device.
[[nodiscard]] const Memory& cuda_memory(int index);

}  // namespace bp
