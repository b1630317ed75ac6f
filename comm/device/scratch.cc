#include "comm/device/scratch.h"

#include "comm/device/device_memory.h"

namespace bp {

std::span<std::byte> ScratchMemory::at_least(std::size_t bytes, const Device& device) {
  if (bytes > size_ || device != device_) {
    memory_.reset();  // first, so that the old and the new memory never exist together
    size_ = 0;
    const Memory& memory = memory_of(device);
    memory_ = place_ == Place::on_host ? memory.allocate_on_host(bytes) : memory.allocate(bytes);
    size_ = bytes;
    device_ = device;
  }
  return {memory_.get(), bytes};
}

}  // namespace bp
