#include "tests/support/fake_torch_device/streams.h"

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <c10/util/Exception.h>

namespace fake_torch_device {
namespace {

using bp::cuda_runtime;
using bp::CudaRuntime;

constexpr std::size_t kMostInPool = 32;  // as in LibTorch for CUDA

void* create_stream() {
  void* handle = nullptr;
  check(cuda_runtime().create_stream(&handle, CudaRuntime::kStreamApart), "create a stream");
  return handle;
}

// Streams live as long as the process.
struct Pool {
  std::vector<void*> streams;
  std::size_t next = 0;
};

struct Pools {
  std::mutex mutex;
  std::map<c10::DeviceIndex, Pool> of_devices;
};

Pools& pools() {
  static Pools& only = *new Pools;
  return only;
}

// The current streams of this thread. A device without an entry has its default stream.
thread_local std::map<c10::DeviceIndex, c10::StreamId> current_ids;

c10::Stream stream_with(c10::Device device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, device, id);
}

}  // namespace

void check(CudaRuntime::Code code, const char* action) {
  if (code == CudaRuntime::kSuccess) return;
  const auto text =
      "fake device: cannot " + std::string(action) + ": " + cuda_runtime().error(code);
  TORCH_CHECK_WITH(OutOfMemoryError, code != CudaRuntime::kOutOfMemory, "CUDA out of memory. ",
                   text);
  TORCH_CHECK(false, text);
}

c10::Device current_device() {
  int index = 0;
  check(cuda_runtime().get_device(&index), "get the current device");
  return {kType, static_cast<c10::DeviceIndex>(index)};
}

c10::Device with_index(c10::Device device) {
  return device.has_index() ? device : current_device();
}

void* handle_of(const c10::Stream& stream) {
  // LibTorch has only a number for a stream.
  return reinterpret_cast<void*>(stream.id());  // NOLINT
}

c10::Stream current_stream(c10::Device device) {
  const c10::Device own = with_index(device);
  const auto found = current_ids.find(own.index());
  return stream_with(own, found == current_ids.end() ? 0 : found->second);
}

c10::Stream exchange_stream(const c10::Stream& stream) {
  const c10::Stream before = current_stream(stream.device());
  current_ids[stream.device_index()] = stream.id();
  return before;
}

c10::Stream stream_from_pool(c10::Device device) {
  const c10::Device own = with_index(device);
  const std::lock_guard lock(pools().mutex);
  Pool& pool = pools().of_devices[own.index()];
  if (pool.streams.size() < kMostInPool) pool.streams.push_back(create_stream());
  void* const handle = pool.streams[pool.next++ % kMostInPool];
  return stream_with(own, reinterpret_cast<c10::StreamId>(handle));
}

void finish(const c10::Stream& stream) {
  const CurrentDevice current(stream.device());
  check(cuda_runtime().finish_stream(handle_of(stream)), "finish a stream");
}

void finish(c10::Device device) {
  const c10::Device own = with_index(device);
  std::vector<void*> handles = {nullptr};
  {
    const std::lock_guard lock(pools().mutex);
    const std::vector<void*>& streams = pools().of_devices[own.index()].streams;
    handles.insert(handles.end(), streams.begin(), streams.end());
  }
  const CurrentDevice current(own);
  for (void* const handle : handles) {
    check(cuda_runtime().finish_stream(handle), "finish a stream");
  }
}

void record(void* event, const c10::Stream& stream) {
  const CurrentDevice current(stream.device());
  check(cuda_runtime().record_event(event, handle_of(stream)), "record an event");
}

void wait_for(void* event, const c10::Stream& stream) {
  const CurrentDevice current(stream.device());
  check(cuda_runtime().wait_event(handle_of(stream), event, 0), "wait for an event");
}

void make_wait(const c10::Stream& stream, const c10::Stream& other) {
  const CudaRuntime& cuda = cuda_runtime();
  void* event = nullptr;
  check(cuda.create_event(&event, CudaRuntime::kEventUntimed), "create an event");
  record(event, other);
  wait_for(event, stream);
  check(cuda.destroy_event(event), "destroy an event");
}

void copy(void* to, const void* from, std::size_t bytes, const c10::Stream& stream) {
  if (bytes == 0) return;
  const CurrentDevice current(stream.device());
  check(cuda_runtime().copy(to, from, bytes, CudaRuntime::kAnyDirection, handle_of(stream)),
        "copy");
}

}  // namespace fake_torch_device
