#include "comm/backend/self.h"

#include "comm/device/device.h"

namespace bp {

void SelfBackend::run(const Operation& operation, CollectiveCall& call) {
  call.use("copy");
  const ConstView& from = operation.input;
  if (from.bytes() == 0) return;
  memory_of(operation.device).copy(operation.output.data, from.data, from.bytes());
}

}  // namespace bp
