// How LibTorch changes the current device and stream, and orders streams by events.
#include <chrono>
#include <thread>

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

#include "comm/device/cuda_runtime.h"
#include "tests/support/fake_torch_device/memory.h"
#include "tests/support/fake_torch_device/streams.h"

namespace fake_torch_device {
namespace {

using bp::cuda_runtime;
using bp::CudaRuntime;

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  [[nodiscard]] c10::DeviceType type() const override { return kType; }

  [[nodiscard]] c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = current_device();
    setDevice(device);
    return before;
  }
  [[nodiscard]] c10::Device getDevice() const override { return current_device(); }
  void setDevice(c10::Device device) const override {
    if (device.has_index()) check(cuda_runtime().set_device(device.index()), "set the device");
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.has_index()) static_cast<void>(cuda_runtime().set_device(device.index()));
  }
  [[nodiscard]] c10::DeviceIndex deviceCount() const noexcept override try {
    int count = 0;
    const bool is_known = cuda_runtime().device_count(&count) == CudaRuntime::kSuccess;
    return static_cast<c10::DeviceIndex>(is_known ? count : 0);
  } catch (...) {
    return 0;
  }

  [[nodiscard]] c10::Stream getStream(c10::Device device) const override {
    return current_stream(device);
  }
  [[nodiscard]] c10::Stream getDefaultStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, with_index(device));
  }
  [[nodiscard]] c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return stream_from_pool(device);
  }
  [[nodiscard]] c10::Stream getNewStream(c10::Device device, int) const override {
    return stream_from_pool(device);
  }
  [[nodiscard]] c10::Stream exchangeStream(c10::Stream stream) const override {
    return exchange_stream(stream);
  }
  [[nodiscard]] void* getStreamNativeHandle(c10::Stream stream) const override {
    return handle_of(stream);
  }

  void record(void** event,
              const c10::Stream& stream,
              c10::DeviceIndex,
              c10::EventFlag) const override {
    if (*event == nullptr) {
      check(cuda_runtime().create_event(event, CudaRuntime::kEventUntimed), "create an event");
    }
    fake_torch_device::record(*event, stream);
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    if (event != nullptr) static_cast<void>(cuda_runtime().destroy_event(event));
  }
  void block(void* event, const c10::Stream& stream) const override {
    if (event != nullptr) wait_for(event, stream);
  }
  [[nodiscard]] bool queryEvent(void* event) const override {
    if (event == nullptr) return true;
    const auto code = cuda_runtime().query_event(event);
    if (code == CudaRuntime::kNotReady) return false;
    check(code, "query an event");
    return true;
  }
  void synchronizeEvent(void* event) const override {
    while (!queryEvent(event)) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }

  [[nodiscard]] bool queryStream(const c10::Stream& stream) const override {
    void* event = nullptr;
    record(&event, stream, stream.device_index(), c10::EventFlag::PYTORCH_DEFAULT);
    const bool is_done = queryEvent(event);
    destroyEvent(event, stream.device_index());
    return is_done;
  }
  void synchronizeStream(const c10::Stream& stream) const override { finish(stream); }
  void synchronizeDevice(c10::DeviceIndex index) const override {
    finish(c10::Device(kType, index));
  }
  void recordDataPtrOnStream(const c10::DataPtr& memory, const c10::Stream& stream) const override {
    use_on(memory, stream);
  }
};

const c10::impl::DeviceGuardImplRegistrar kGuardRegistered(kType, new Guard);
const int kAllocatorRegistered = [] {
  c10::SetAllocator(kType, device_allocator());
  return 0;
}();

}  // namespace
}  // namespace fake_torch_device
