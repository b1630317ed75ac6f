#include "comm/device/device.h"

#include "base/text.h"
#include "bp/error.h"

namespace bp {

const Memory& memory_of(const Device& device) {
  switch (device.kind) {
    case Device::Kind::host:
      return host_memory();
    case Device::Kind::cuda:
      break;
  }
  throw Error(ErrorCode::unavailable, concat("this build of bp does not serve the memory of ",
                                             name_of(device), "; use host memory"));
}

}  // namespace bp
