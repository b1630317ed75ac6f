// The GPUs of a machine, and who is at work on them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bp::launcher {

struct GpuProcess {
  int pid = 0;
  std::string user;     // empty where the process cannot be seen: another container's
  std::string program;  // likewise
  std::uint64_t bytes = 0;
};

struct Gpu {
  int index = 0;  // in the order of the bus, as nvidia-smi counts
  std::string name;
  std::string uuid;
  std::uint64_t memory = 0;  // bytes
  std::uint64_t memory_used = 0;
  int load = 0;  // percent of the last moment
  std::vector<GpuProcess> processes;
};

struct GpuList {
  std::string driver = {};   // its version
  std::string problem = {};  // why nothing is known, in one line; then there are none
  std::vector<Gpu> gpus = {};
};

// Asks NVIDIA's management library, which is opened now and closed again. A machine without it has
// none, and says so in `problem`.
[[nodiscard]] GpuList list_gpus();

// "pid 4711 (ada, python3, 12.0 GiB)", of all its processes.
[[nodiscard]] std::string owners_of(const Gpu& gpu);

}  // namespace bp::launcher
