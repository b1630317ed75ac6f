// Which backend serves the memory of CUDA devices: what the options ask for, if all ranks can have
// it.
//
// With "auto" a rank can use NCCL if its program has loaded NCCL already, as LibTorch with CUDA
// does, or if BP_NCCL names it, and if there is a device. bp does not search for it: to open it
// takes time and memory, which a program that uses host memory need not spend.
#pragma once

#include <string>

#include "bp/store.h"
#include "comm/engine/backends.h"

namespace bp {

// Returns whether this rank can use NCCL, and may. Throws `unavailable` if it must and cannot.
[[nodiscard]] bool can_use_nccl(const std::string& backend);

// The ranks of a world tell each other: each that can use NCCL says so before all have arrived, and
// asks afterwards.
class DeviceChoice {
 public:
  // `name` is the world's.
  DeviceChoice(const std::string& name, const std::string& backend, Store& store);
  // Throws `unavailable` if this rank must use NCCL and another cannot.
  [[nodiscard]] DeviceBackend agreed(int ranks);

 private:
  Store& store_;
  const std::string key_;
  const bool must_;
  const bool can_;
};

// For a rank that is alone.
[[nodiscard]] DeviceBackend own_device_choice(const std::string& backend);

}  // namespace bp
