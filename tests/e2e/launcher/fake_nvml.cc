// A libnvidia-ml.so.1 for machines without GPUs. It has the functions that bprun calls, as NVIDIA's
// documentation declares them. The variable FAKE_NVML has one line per GPU,
// "NAME|MEMORY|USED|LOAD|PID,PID"; "broken" stands for a driver that is not loaded.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "launcher/gpus/nvml.h"

namespace {

using bp::launcher::NvmlMemory;
using bp::launcher::NvmlProcess;
using bp::launcher::NvmlUtilization;

constexpr int kDriverNotLoaded = 9;
constexpr int kInvalid = 2;

std::string described() {
  const char* text = std::getenv("FAKE_NVML");
  return text != nullptr ? text : "";
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::istringstream stream(text);
  std::vector<std::string> parts;
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// A handle is the GPU's index plus 1.
std::vector<std::string> fields(void* device) {
  const auto number = reinterpret_cast<std::uintptr_t>(device) - 1;
  auto parts = split(split(described(), '\n').at(number), '|');
  parts.resize(5);
  return parts;
}

int copy(const std::string& text, char* into, unsigned length) {
  std::strncpy(into, text.c_str(), length);
  return text.size() < length ? 0 : bp::launcher::kNvmlTooSmall;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {
int nvmlInit_v2() { return described() == "broken" ? kDriverNotLoaded : 0; }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int code) {
  return code == kDriverNotLoaded ? "Driver Not Loaded" : "Invalid Argument";
}
int nvmlSystemGetDriverVersion(char* into, unsigned length) { return copy("550.54", into, length); }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(split(described(), '\n').size());
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  unsigned count = 0;
  nvmlDeviceGetCount_v2(&count);
  *device = reinterpret_cast<void*>(std::uintptr_t{index} + 1);
  return index < count ? 0 : kInvalid;
}
int nvmlDeviceGetName(void* device, char* into, unsigned length) {
  return copy(fields(device)[0], into, length);
}
int nvmlDeviceGetUUID(void* device, char* into, unsigned length) {
  return copy("GPU-" + std::to_string(reinterpret_cast<std::uintptr_t>(device) - 1), into, length);
}
int nvmlDeviceGetMemoryInfo(void* device, NvmlMemory* memory) {
  memory->total = std::stoull(fields(device)[1]);
  memory->used = std::stoull(fields(device)[2]);
  memory->free = memory->total - memory->used;
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* device, NvmlUtilization* load) {
  load->gpu = static_cast<unsigned>(std::stoul(fields(device)[3]));
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, NvmlProcess* into) {
  const auto pids = split(fields(device)[4], ',');
  const bool fits = pids.size() <= *count;
  *count = static_cast<unsigned>(pids.size());
  for (std::size_t i = 0; fits && i < pids.size(); ++i) {
    into[i] = {static_cast<unsigned>(std::stoul(pids[i])), 1ULL << 30U, 0, 0};
  }
  return fits ? 0 : bp::launcher::kNvmlTooSmall;
}
}
#pragma GCC visibility pop
