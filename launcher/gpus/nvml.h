// The part of NVIDIA's management library that bprun calls, as its documentation declares it. It is
// loaded at run time, because most machines do not have it and a build must not need it.
#pragma once

#include <memory>
#include <string>

namespace bp::launcher {

struct NvmlMemory {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

struct NvmlUtilization {
  unsigned gpu = 0;
  unsigned memory = 0;
};

struct NvmlProcess {  // for versions 2 and 3 of the call
  unsigned pid = 0;
  unsigned long long used_memory = 0;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};

inline constexpr int kNvmlSuccess = 0;
inline constexpr int kNvmlTooSmall = 7;
inline constexpr unsigned long long kNvmlUnknown = ~0ULL;

// The library's functions. Each returns kNvmlSuccess or a code that error() explains.
struct Nvml {
  using Device = void*;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error)(int) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*device)(unsigned, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*memory)(Device, NvmlMemory*) = nullptr;
  int (*utilization)(Device, NvmlUtilization*) = nullptr;
  int (*processes)(Device, unsigned*, NvmlProcess*) = nullptr;
};

// Loads and initializes libnvidia-ml.so.1. The last owner of the result shuts it down and unloads
// it. Returns null, with the reason in `why`, if the library does not exist, lacks a function or
// finds no driver.
[[nodiscard]] std::shared_ptr<const Nvml> open_nvml(std::string& why);

}  // namespace bp::launcher
