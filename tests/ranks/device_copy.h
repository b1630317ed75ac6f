// Copies of host memory on a device.
#pragma once

#include <cstddef>
#include <memory>

#include "bp/types.h"
#include "comm/device/device_memory.h"

namespace bp::test {

inline thread_local Device test_device{Device::Kind::cuda, 0};  // of the thread's rank

// A copy of a view in the device's memory.
class OnDevice {
 public:
  explicit OnDevice(const ConstView& host)
      : host_(host), memory_(memory_of(device_).allocate(host.bytes())) {
    memory_of(device_).write(memory_.get(), host.data, host.bytes());
  }
  [[nodiscard]] View view() const { return {memory_.get(), host_.count, host_.type, device_}; }
  void back(const View& host) const {
    memory_of(device_).read(host.data, memory_.get(), host.bytes());
  }

 private:
  ConstView host_;
  Device device_ = test_device;
  std::shared_ptr<std::byte> memory_;
};

}  // namespace bp::test
