#include "comm/device/scratch.h"

#include "comm/device/device.h"

namespace bp {

std::span<std::byte> Scratch::at_least(std::size_t bytes, const Device& device) {
  if (bytes > size_ || device != device_) {
    memory_.reset();  // first, so that the old and the new memory never exist together
    size_ = 0;
    memory_ = memory_of(device).allocate(bytes);
    size_ = bytes;
    device_ = device;
  }
  return {memory_.get(), bytes};
}

}  // namespace bp
