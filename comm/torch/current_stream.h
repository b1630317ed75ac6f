// LibTorch's current streams: the calling thread's tensor operations on a device run on one stream
// of that device, in order.
#pragma once

#include <c10/core/Device.h>

namespace bp {

// Returns the calling thread's current stream, for CollectiveOptions::stream; null for the CPU and
// for a device's default stream. Autograd's threads have the stream of the forward pass.
[[nodiscard]] void* current_stream(c10::Device device);

// Blocks until the work that the current stream has now is complete. Does nothing for the CPU.
void finish_current_stream(c10::Device device);

}  // namespace bp
