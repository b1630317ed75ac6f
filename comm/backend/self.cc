#include "comm/backend/self.h"

#include <cstring>

namespace bp {

void SelfBackend::run(const Operation& operation, CollectiveCall& call) {
  call.use("copy");
  const ConstView& from = operation.input;
  if (from.bytes() > 0 && from.data != operation.output.data) {
    std::memmove(operation.output.data, from.data, from.bytes());
  }
}

}  // namespace bp
