// The streams of the fake device, which are those of the fake CUDA runtime. The identifier of a
// c10::Stream is the runtime's handle. A null handle is the default stream of the device that is
// the current one in a call of the runtime.
//
// Threads: any; each has its own current streams, as with CUDA.
#pragma once

#include <cstddef>

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include "comm/device/cuda_runtime.h"
#include "comm/device/current_cuda_device.h"
#include "tests/support/fake_torch_device/key.h"

namespace fake_torch_device {

// Throws what LibTorch throws for a failure of CUDA.
void check(bp::CudaRuntime::Code code, const char* action);

[[nodiscard]] c10::Device current_device();
// Returns the device with the index that it lacks if it has none: the current device's.
[[nodiscard]] c10::Device with_index(c10::Device device);

[[nodiscard]] void* handle_of(const c10::Stream& stream);
[[nodiscard]] c10::Stream current_stream(c10::Device device);
c10::Stream exchange_stream(const c10::Stream& stream);  // returns the one before
[[nodiscard]] c10::Stream stream_from_pool(c10::Device device);

// Makes the device the current one until the end of a block.
class CurrentDevice {
 public:
  explicit CurrentDevice(c10::Device device)
      : current_(bp::cuda_runtime(), with_index(device).index()) {}

 private:
  bp::CurrentCudaDevice current_;
};

void finish(const c10::Stream& stream);
void finish(c10::Device device);  // its default stream and those of its pool
void record(void* event, const c10::Stream& stream);
void wait_for(void* event, const c10::Stream& stream);
// Makes later work of one stream wait for what the other has now.
void make_wait(const c10::Stream& stream, const c10::Stream& other);
// Adds a copy to the stream. Returns when it is done only if host memory is not pinned.
void copy(void* to, const void* from, std::size_t bytes, const c10::Stream& stream);

}  // namespace fake_torch_device
