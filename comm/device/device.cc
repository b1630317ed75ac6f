#include "comm/device/device.h"

#include "base/check.h"
#include "comm/device/cuda.h"

namespace bp {

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
