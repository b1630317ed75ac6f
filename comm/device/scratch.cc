#include "comm/device/scratch.h"

#include "comm/device/device_memory.h"

namespace bp {

std::shared_ptr<std::byte> ScratchMemory::on_device(std::size_t bytes, const Device& device) {
  return memory_of(device).allocate(bytes);
}

std::shared_ptr<std::byte> ScratchMemory::on_host(std::size_t bytes, const Device& device) {
  return memory_of(device).allocate_on_host(bytes);
}

std::span<std::byte> ScratchMemory::at_least(std::size_t bytes, const Device& device) {
  if (bytes > size_ || device != device_) {
    memory_.reset();  // first, so that the old and the new memory never exist together
    size_ = 0;
    memory_ = allocate_(bytes, device);
    size_ = bytes;
    device_ = device;
  }
  return {memory_.get(), bytes};
}

}  // namespace bp
