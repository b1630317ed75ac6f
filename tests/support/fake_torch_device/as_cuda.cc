// The fake device as LibTorch's CUDA, for programs that open libtorch_cuda.so: what LibTorch's
// generic code asks of it.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "tests/support/fake_torch_device/memory.h"
#include "tests/support/fake_torch_device/streams.h"

namespace fake_torch_device {
namespace {

// LibTorch finds the class by its name.
class CUDAHooks final : public at::CUDAHooksInterface {
 public:
  explicit CUDAHooks(at::CUDAHooksArgs) {}
  void init() const override {}
  [[nodiscard]] bool hasCUDA() const override { return deviceCount() > 0; }
  [[nodiscard]] bool isBuilt() const override { return true; }
  [[nodiscard]] bool isAvailable() const override { return hasCUDA(); }
  [[nodiscard]] bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }

  [[nodiscard]] c10::DeviceIndex deviceCount() const override {
    return c10::impl::getDeviceGuardImpl(kType)->deviceCount();
  }
  [[nodiscard]] int getNumGPUs() const override { return deviceCount(); }
  [[nodiscard]] c10::DeviceIndex current_device() const override { return getCurrentDevice(); }
  [[nodiscard]] c10::DeviceIndex getCurrentDevice() const override {
    return fake_torch_device::current_device().index();
  }
  // The runtime has no function that tells the device of an address.
  [[nodiscard]] c10::Device getDeviceFromPtr(void*) const override {
    return fake_torch_device::current_device();
  }
  void deviceSynchronize(c10::DeviceIndex index) const override {
    finish(c10::Device(kType, index));
  }

  [[nodiscard]] bool isPinnedPtr(const void* memory) const override { return is_pinned(memory); }
  [[nodiscard]] c10::Allocator* getPinnedMemoryAllocator() const override {
    return pinned_allocator();
  }
  [[nodiscard]] c10::Allocator* getCUDADeviceAllocator() const override {
    return device_allocator();
  }

  // Random numbers are the host's, so that they are the same on both devices.
  [[nodiscard]] const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    return at::detail::getDefaultCPUGenerator();
  }
  [[nodiscard]] at::Generator getNewGenerator(c10::DeviceIndex) const override {
    return at::detail::createCPUGenerator();
  }
};

using at::CUDAHooksArgs;
using at::CUDAHooksInterface;
using at::CUDAHooksRegistry;
using at::RegistererCUDAHooksRegistry;
REGISTER_CUDA_HOOKS(CUDAHooks)

}  // namespace
}  // namespace fake_torch_device
