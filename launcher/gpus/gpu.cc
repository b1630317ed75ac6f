#include "launcher/gpus/gpu.h"

#include <array>

#include "base/text.h"
#include "launcher/gpus/nvml.h"
#include "launcher/process/process_owner.h"

namespace bp::launcher {
namespace {

constexpr std::size_t kText = 96;  // the longest text that NVML documents

using TextCall = int (*)(Nvml::Device, char*, unsigned);

std::string text_of(TextCall call, Nvml::Device device) {
  std::array<char, kText> text{};
  return call(device, text.data(), text.size() - 1) == kNvmlSuccess ? text.data() : "";
}

std::vector<GpuProcess> processes_of(const Nvml& nvml, Nvml::Device device) {
  std::vector<NvmlProcess> found(16);
  auto count = static_cast<unsigned>(found.size());
  int result = nvml.processes(device, &count, found.data());
  for (int again = 0; result == kNvmlTooSmall && again < 3; ++again) {
    found.resize(count + 16);  // room for processes that start between the two calls
    count = static_cast<unsigned>(found.size());
    result = nvml.processes(device, &count, found.data());
  }
  found.resize(result == kNvmlSuccess ? count : 0);
  std::vector<GpuProcess> processes;
  for (const NvmlProcess& process : found) {
    const auto owner = owner_of(static_cast<int>(process.pid));
    processes.push_back({.pid = static_cast<int>(process.pid),
                         .user = owner.user,
                         .program = owner.program,
                         .bytes = process.used_memory == kNvmlUnknown ? 0 : process.used_memory});
  }
  return processes;
}

// Fields that the library does not report keep their defaults.
Gpu read_gpu(const Nvml& nvml, unsigned index) {
  Gpu gpu;
  gpu.index = static_cast<int>(index);
  Nvml::Device device = nullptr;
  if (const int result = nvml.device(index, &device); result != kNvmlSuccess) {
    gpu.name = concat("unusable: ", nvml.error(result));
    return gpu;
  }
  gpu.name = text_of(nvml.name, device);
  gpu.uuid = text_of(nvml.uuid, device);
  if (NvmlMemory memory; nvml.memory(device, &memory) == kNvmlSuccess) {
    gpu.memory = memory.total;
    gpu.memory_used = memory.used;
  }
  if (NvmlUtilization load; nvml.utilization(device, &load) == kNvmlSuccess) {
    gpu.load = static_cast<int>(load.gpu);
  }
  gpu.processes = processes_of(nvml, device);
  return gpu;
}

}  // namespace

GpuList list_gpus() {
  GpuList list;
  const auto nvml = open_nvml(list.problem);
  if (!nvml) {
    return list;
  }
  std::array<char, kText> driver{};
  if (nvml->driver_version(driver.data(), driver.size() - 1) == kNvmlSuccess) {
    list.driver = driver.data();
  }
  unsigned count = 0;
  if (const int result = nvml->count(&count); result != kNvmlSuccess) {
    list.problem = nvml->error(result);
    return list;
  }
  for (unsigned index = 0; index < count; ++index) {
    list.gpus.push_back(read_gpu(*nvml, index));
  }
  return list;
}

std::string owners_of(const Gpu& gpu) {
  std::string text;
  for (const GpuProcess& process : gpu.processes) {
    const std::string owner =
        process.user.empty() ? "of another container" : concat(process.user, ", ", process.program);
    text += concat(text.empty() ? "" : ", ", "pid ", process.pid, " (", owner, ", ",
                   size_text(process.bytes), ")");
  }
  return text;
}

}  // namespace bp::launcher
