#include "comm/device/device_memory.h"

#include "base/check.h"
#include "comm/device/cuda.h"

namespace bp {

Device own_device(Device::Kind kind, int local_rank) {
  switch (kind) {
    case Device::Kind::host:
      return {};
    case Device::Kind::cuda:
      return {kind, local_rank % count_cuda_devices()};
  }
  BP_CHECK(false, "a device of an unknown kind");
}

const Memory& memory_of(const Device& device) {
  switch (device.kind) {
    case Device::Kind::host:
      return host_memory();
    case Device::Kind::cuda:
      return cuda_memory(device.index);
  }
  BP_CHECK(false, "a device of an unknown kind");
}

}  // namespace bp
