// Memory that outlives a call, so that the next call need not allocate.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "bp/device.h"

namespace bp {

class ScratchMemory {
 public:
  // Where it comes from: the device's own memory, host memory that the device copies fast, or a
  // function of the owner's.
  using Allocate = std::function<std::shared_ptr<std::byte>(std::size_t bytes, const Device&)>;
  [[nodiscard]] static std::shared_ptr<std::byte> on_device(std::size_t bytes,
                                                            const Device& device);
  [[nodiscard]] static std::shared_ptr<std::byte> on_host(std::size_t bytes, const Device& device);

  explicit ScratchMemory(Allocate allocate = on_device) : allocate_(std::move(allocate)) {}

  // Returns memory for `device`, aligned to 64 bytes and of undefined content. It lives until the
  // next call of this function.
  [[nodiscard]] std::span<std::byte> at_least(std::size_t bytes, const Device& device = {});
  // Returns an owner of that memory, with which it lives longer. Later calls may return the same
  // memory all the same.
  [[nodiscard]] std::shared_ptr<const void> share() const { return memory_; }

 private:
  Allocate allocate_;
  std::shared_ptr<std::byte> memory_;
  std::size_t size_ = 0;
  Device device_;
};

}  // namespace bp
