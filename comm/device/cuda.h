// The memory of a CUDA device.
#pragma once

#include "comm/device/device.h"

namespace bp {

// Returns the memory of the device with this index. Throws `unavailable` if this process has no
// such device.
[[nodiscard]] const Memory& cuda_memory(int index);

}  // namespace bp
