// The GPUs of a machine, and the processes that use them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bp::launcher {

struct GpuProcess {
  int pid = 0;
  std::string user;     // empty if the process cannot be seen, as in another container
  std::string program;  // empty in the same case
  std::uint64_t bytes = 0;
};

struct Gpu {
  int index = 0;  // in the order of the bus, as nvidia-smi numbers them
  std::string name;
  std::string uuid;
  std::uint64_t memory = 0;  // bytes
  std::uint64_t memory_used = 0;
  int load = 0;  // percent, over NVML's last sample period
  std::vector<GpuProcess> processes;
};

struct GpuList {
  std::string driver = {};   // the driver's version
  std::string problem = {};  // one line that says why `gpus` is empty; empty if NVML answered
  std::vector<Gpu> gpus = {};
};

// Lists the GPUs by NVIDIA's management library (NVML), which it loads and unloads. On a machine
// without that library the list is empty and `problem` says why.
[[nodiscard]] GpuList list_gpus();

// Returns "pid 4711 (ada, python3, 12.0 GiB)" for each of its processes.
[[nodiscard]] std::string owners_of(const Gpu& gpu);

}  // namespace bp::launcher
