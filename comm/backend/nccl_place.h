// On which device of which machine a rank uses NCCL. All ranks of a communicator see all of these,
// so all come to the same judgement.
#pragma once

#include <array>
#include <span>
#include <string>

namespace bp {

// Travels between ranks as it is.
struct NcclPlace {
  std::array<char, 64> machine = {};  // differs between any two that run
  std::array<char, 64> host = {};     // its name, for texts
  std::array<char, 24> bus_id = {};   // of the device
  int version = 0;                    // of NCCL
};

// Throws DeviceFailure.
[[nodiscard]] NcclPlace nccl_place(int device);

// Returns which two ranks use one device, which NCCL does not serve: "ranks 0 and 2 use the same
// CUDA device, 0000:3B:00.0 of node7". Returns "" if each has its own.
[[nodiscard]] std::string find_shared_device(std::span<const NcclPlace> places);

// Returns which two ranks have different versions of NCCL, which may not understand each other.
[[nodiscard]] std::string find_other_version(std::span<const NcclPlace> places);

}  // namespace bp
