#include "trainer/gpu/use_gpu.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <c10/core/impl/VirtualGuardImpl.h>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"
#include "trainer/gpu/gpus.h"
#include "trainer/model/device/open_model_kernels.h"

namespace bp::trainer {
namespace {

// The GPUs of this process, once open_gpus() has looked for them.
VisibleGpus& found() {
  static VisibleGpus visible{{}, "--device is cpu"};
  return visible;
}

// The library registers CUDA with LibTorch, whose other libraries the program links. It is never
// closed.
std::string open_libtorch_cuda() {
  if (::dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) != nullptr) {
    return device::find_model_kernels_problem();
  }
  return concat("LibTorch's CUDA does not load: ", ::dlerror());
}

GpuPlace place_of(const Communicator& world) {
  const char* const shown = std::getenv("CUDA_VISIBLE_DEVICES");
  return {world.topology().local_rank(), world.topology().local_size(),
          shown != nullptr && *shown != '\0'};
}

[[noreturn]] void refuse(const std::string& problem) {
  throw Error(ErrorCode::unavailable,
              concat("--device cuda: ", problem, "; --device cpu trains without a GPU"));
}

}  // namespace

void open_gpus(const Options& options) {
  if (options.device == DeviceChoice::cpu) return;
  found() = visible_gpus();
  if (!found().gpus.empty()) {
    if (const std::string problem = open_libtorch_cuda(); !problem.empty()) {
      found() = {{}, problem};
    }
  }
  if (options.device == DeviceChoice::cuda && found().gpus.empty()) refuse(found().problem);
}

void choose_device(Communicator& world, Options& options) {
  if (options.device == DeviceChoice::cpu) return;
  const GpuChoice own = choose_gpu(found(), place_of(world));
  const std::vector<std::string> problems =
      all_gather_object(world, own.index < 0 ? own.problem : "", {.name = "device"});
  for (std::size_t rank = 0; rank < problems.size(); ++rank) {
    if (problems[rank].empty()) continue;
    if (options.device == DeviceChoice::automatic) return;
    refuse(world.size() == 1 ? problems[rank] : concat("rank ", rank, ": ", problems[rank]));
  }
  options.gpu = own.index;
  const Gpu& gpu = found().gpus[static_cast<std::size_t>(own.index)];
  options.gpu_text = concat(gpu.name, " (", size_text(static_cast<std::uint64_t>(gpu.memory)), ")");
  options.gpu_has_bf16 = gpu.major >= 8;
  const c10::impl::VirtualGuardImpl guard(c10::kCUDA);
  guard.setDevice(device_of(options));
}

c10::Device device_of(const Options& options) {
  if (options.gpu < 0) return c10::kCPU;
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(options.gpu)};
}

}  // namespace bp::trainer
