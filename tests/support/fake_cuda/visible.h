// The devices that the fake CUDA runtime and the fake driver show to this process: the first
// FAKE_CUDA_DEVICES (1), or those of them that CUDA_VISIBLE_DEVICES lists. As with CUDA, a device
// has a new index in this list, and the list ends at the first entry that is not a device.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace fake_cuda {

// Returns the number of each device on its machine.
inline std::vector<int> visible_devices() {
  const char* const text = std::getenv("FAKE_CUDA_DEVICES");
  const int all = text == nullptr ? 1 : std::atoi(text);
  std::vector<int> devices;
  const char* const list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (list == nullptr) {
    for (int device = 0; device < all; ++device) devices.push_back(device);
    return devices;
  }
  std::istringstream entries(list);
  for (std::string entry; std::getline(entries, entry, ',');) {
    char* end = nullptr;
    const long device = std::strtol(entry.c_str(), &end, 10);
    if (end == entry.c_str() || *end != '\0' || device < 0 || device >= all) break;
    devices.push_back(static_cast<int>(device));
  }
  return devices;
}

// Returns the bytes that a process can allocate on all its devices together: FAKE_CUDA_MEMORY (16
// GiB).
inline std::size_t memory_of_devices() {
  const char* const text = std::getenv("FAKE_CUDA_MEMORY");
  return text == nullptr ? std::size_t{16} << 30 : std::strtoull(text, nullptr, 10);
}

}  // namespace fake_cuda
