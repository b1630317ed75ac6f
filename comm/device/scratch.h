// Memory that outlives a call, so that the next call need not allocate.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "bp/device.h"

namespace bp {

class ScratchMemory {
 public:
  // Where it lies: in the device's own memory, or in host memory that the device copies fast.
  enum class Place { on_device, on_host };

  explicit ScratchMemory(Place place = Place::on_device) : place_(place) {}

  // Returns memory for `device`, aligned to 64 bytes and of undefined content. It lives until the
  // next call of this function.
  [[nodiscard]] std::span<std::byte> at_least(std::size_t bytes, const Device& device = {});
  // Returns an owner of that memory, with which it lives longer. Later calls may return the same
  // memory all the same.
  [[nodiscard]] std::shared_ptr<const void> share() const { return memory_; }

 private:
  Place place_;
  std::shared_ptr<std::byte> memory_;
  std::size_t size_ = 0;
  Device device_;
};

}  // namespace bp
