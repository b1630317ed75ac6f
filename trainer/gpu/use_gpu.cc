#include "trainer/gpu/use_gpu.h"

#include <ATen/Context.h>
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

// What open_gpus() has found.
struct Found {
  VisibleGpus usable = {{}, "--device is cpu"};
  bool has_gpus = false;  // perhaps none that can be used
};
Found& found() {
  static Found one;
  return one;
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
  VisibleGpus& usable = found().usable;
  usable = visible_gpus();
  found().has_gpus = !usable.gpus.empty();
  if (found().has_gpus) {
    if (const std::string problem = open_libtorch_cuda(); !problem.empty()) usable = {{}, problem};
  }
  if (options.device == DeviceChoice::cuda && usable.gpus.empty()) refuse(usable.problem);
}

void choose_device(Communicator& world, Options& options, const Say& say) {
  if (options.device == DeviceChoice::cpu) return;
  const GpuChoice own = choose_gpu(found().usable, place_of(world));
  const std::vector<std::string> problems =
      all_gather_object(world, own.index < 0 ? own.problem : "", {.name = "device"});
  for (std::size_t rank = 0; rank < problems.size(); ++rank) {
    if (problems[rank].empty()) continue;
    const std::string problem =
        world.size() == 1 ? problems[rank] : concat("rank ", rank, ": ", problems[rank]);
    if (options.device != DeviceChoice::automatic) refuse(problem);
    if (found().has_gpus) say(concat("no GPU is used: ", problem));
    return;
  }
  options.gpu = own.index;
  const Gpu& gpu = found().usable.gpus[static_cast<std::size_t>(own.index)];
  options.gpu_text = concat(gpu.name, " (", size_text(static_cast<std::uint64_t>(gpu.memory)), ")");
  options.gpu_has_bf16 = gpu.major >= 8;
  const c10::impl::VirtualGuardImpl guard(c10::kCUDA);
  guard.setDevice(device_of(options));
  // Products add in fp32 and round once (products.h). By default cuBLAS may round partial sums.
  at::globalContext().setAllowBF16ReductionCuBLAS(false);
  at::globalContext().setAllowFP16ReductionCuBLAS(false);
}

c10::Device device_of(const Options& options) {
  if (options.gpu < 0) return c10::kCPU;
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(options.gpu)};
}

}  // namespace bp::trainer
