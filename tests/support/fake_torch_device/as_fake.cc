// The fake device as LibTorch's PrivateUse1, by the name of "fake", and what LibTorch's generic
// code asks of an accelerator.
#include <ATen/CPUGeneratorImpl.h>
#include <torch/library.h>

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "tests/support/fake_torch_device/memory.h"
#include "tests/support/fake_torch_device/streams.h"

namespace fake_torch_device {
namespace {

const c10::impl::DeviceGuardImplInterface& guard_impl() {
  return *c10::impl::getDeviceGuardImpl(kType);
}

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  [[nodiscard]] bool isBuilt() const override { return true; }
  [[nodiscard]] bool isAvailable() const override { return deviceCount() > 0; }
  [[nodiscard]] bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }

  [[nodiscard]] c10::DeviceIndex deviceCount() const override { return guard_impl().deviceCount(); }
  [[nodiscard]] c10::DeviceIndex getCurrentDevice() const override {
    return current_device().index();
  }
  void setCurrentDevice(c10::DeviceIndex index) const override {
    guard_impl().setDevice({kType, index});
  }
  [[nodiscard]] c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    return guard_impl().exchangeDevice({kType, index}).index();
  }
  [[nodiscard]] c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    return exchangeDevice(index);
  }
  // The runtime has no function that tells the device of an address.
  [[nodiscard]] c10::Device getDeviceFromPtr(void*) const override { return current_device(); }

  [[nodiscard]] bool isPinnedPtr(const void* memory) const override { return is_pinned(memory); }
  [[nodiscard]] c10::Allocator* getPinnedMemoryAllocator() const override {
    return pinned_allocator();
  }
  void resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t bytes) const override {
    resize(*storage.unsafeGetStorageImpl(), bytes);
  }

  // Random numbers are the host's, so that they are the same on both devices.
  [[nodiscard]] const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    return at::detail::getDefaultCPUGenerator();
  }
  [[nodiscard]] at::Generator getNewGenerator(c10::DeviceIndex) const override {
    return at::detail::createCPUGenerator();
  }
};

const int kRegistered = [] {
  c10::register_privateuse1_backend("fake");
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return 0;
}();

// LibTorch's autocast has no rules for this device.
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFallthrough());
}

}  // namespace
}  // namespace fake_torch_device
