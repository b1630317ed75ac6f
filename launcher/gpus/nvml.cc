#include "launcher/gpus/nvml.h"

#include <dlfcn.h>

#include "base/text.h"

namespace bp::launcher {
namespace {

constexpr const char* kLibrary = "libnvidia-ml.so.1";

using Library = std::unique_ptr<void, int (*)(void*)>;

// Finds the first of the names that the library has.
template <class Function>
bool find(void* library, Function& function, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* const found = ::dlsym(library, name)) {
      function = reinterpret_cast<Function>(found);
      return true;
    }
  }
  return false;
}

bool find_all(void* library, Nvml& nvml) {
  return find(library, nvml.init, {"nvmlInit_v2"}) &&
         find(library, nvml.shutdown, {"nvmlShutdown"}) &&
         find(library, nvml.error, {"nvmlErrorString"}) &&
         find(library, nvml.driver_version, {"nvmlSystemGetDriverVersion"}) &&
         find(library, nvml.count, {"nvmlDeviceGetCount_v2"}) &&
         find(library, nvml.device, {"nvmlDeviceGetHandleByIndex_v2"}) &&
         find(library, nvml.name, {"nvmlDeviceGetName"}) &&
         find(library, nvml.uuid, {"nvmlDeviceGetUUID"}) &&
         find(library, nvml.memory, {"nvmlDeviceGetMemoryInfo"}) &&
         find(library, nvml.utilization, {"nvmlDeviceGetUtilizationRates"}) &&
         find(library, nvml.processes,
              {"nvmlDeviceGetComputeRunningProcesses_v3",
               "nvmlDeviceGetComputeRunningProcesses_v2"});
}

}  // namespace

std::shared_ptr<const Nvml> open_nvml(std::string& why) {
  Library library(::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL), &::dlclose);
  if (!library) {
    why = concat("no NVIDIA driver (", kLibrary, " was not found)");
    return nullptr;
  }
  auto nvml = std::make_unique<Nvml>();
  if (!find_all(library.get(), *nvml)) {
    why = concat(kLibrary, " is too old: it is from before driver 450");
    return nullptr;
  }
  if (const int result = nvml->init(); result != kNvmlSuccess) {
    why = concat(kLibrary, ": ", nvml->error(result));
    return nullptr;
  }
  void* const opened = library.release();
  return {nvml.release(), [opened](const Nvml* ready) {
            ready->shutdown();
            delete ready;  // NOLINT(cppcoreguidelines-owning-memory)
            ::dlclose(opened);
          }};
}

}  // namespace bp::launcher
