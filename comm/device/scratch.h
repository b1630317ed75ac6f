// Memory that outlives a call, so that the next call need not allocate.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "bp/device.h"

namespace bp {

class Scratch {
 public:
  // Returns memory of `device`, aligned to 64 bytes and of undefined content. It lives until the
  // next call of this function.
  [[nodiscard]] std::span<std::byte> at_least(std::size_t bytes, const Device& device = {});

 private:
  std::shared_ptr<std::byte> memory_;
  std::size_t size_ = 0;
  Device device_;
};

}  // namespace bp
