#include "comm/torch/current_stream.h"

#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace bp {
namespace {

// Returns the handle by which the device's own library knows the stream. An older LibTorch does not
// tell it: the host then waits for the stream, and work on any other stream may follow.
template <class Stream>
void* handle_of(const Stream& stream) {
  if constexpr (requires { stream.native_handle(); }) {
    return stream.native_handle();
  } else {
    stream.synchronize();
    return nullptr;
  }
}

}  // namespace

void* current_stream(c10::Device device) {
  if (device.is_cpu()) return nullptr;
  const c10::impl::VirtualGuardImpl guard(device.type());
  return handle_of(guard.getStream(device));
}

void finish_current_stream(c10::Device device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  guard.synchronizeStream(guard.getStream(device));
}

}  // namespace bp
