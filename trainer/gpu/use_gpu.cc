#include "trainer/gpu/use_gpu.h"

#include <ATen/Context.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include <c10/core/impl/VirtualGuardImpl.h>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"
#include "bp/log.h"
#include "trainer/gpu/gpus.h"
#include "trainer/model/device/open_model_kernels.h"

namespace bp::trainer {
namespace {

struct Found {
  VisibleGpus usable{{}, "--device is cpu"};
  bool has_gpus = false;  // the driver shows some, perhaps none that is usable
};

// What open_gpus() has found.
Found& found() {
  static Found found;
  return found;
}

// The library registers CUDA with LibTorch, whose other libraries the program links. It is never
// closed. Returns what is missing to use GPUs, or "".
std::string open_libtorch_cuda() {
  if (::dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return concat("LibTorch's CUDA does not load: ", ::dlerror());
  }
  if (c10::impl::VirtualGuardImpl(c10::kCUDA).deviceCount() == 0) {
    return "LibTorch's CUDA finds no GPU; NVIDIA's driver may be too old for it";
  }
  return device::find_model_kernels_problem();
}

GpuPlace place_of(const Communicator& world) {
  const char* const shown = std::getenv("CUDA_VISIBLE_DEVICES");
  return {world.topology().local_rank(), world.topology().local_size(),
          shown != nullptr && *shown != '\0'};
}

// What is missing to compute on GPUs.
struct Missing {
  std::string problem = {};  // of the first rank that has one, which it names if there are several
  bool has_gpus = false;     // some rank's driver shows one
};

// Collective. `problem` is this rank's.
Missing missing_of(Communicator& world, const std::string& problem) {
  const std::string own = concat(found().has_gpus ? "+" : "-", problem);
  Missing missing;
  int rank = 0;
  for (const std::string& one : all_gather_object(world, own, {.name = "device"})) {
    missing.has_gpus |= one.starts_with('+');
    if (missing.problem.empty() && one.size() > 1) {
      missing.problem = concat(world.size() == 1 ? "" : concat("rank ", rank, ": "), one.substr(1));
    }
    ++rank;
  }
  return missing;
}

}  // namespace

void open_gpus(DeviceChoice choice) {
  if (choice == DeviceChoice::cpu) return;
  found().usable = visible_gpus();
  found().has_gpus = !found().usable.gpus.empty();
  if (!found().has_gpus) return;
  const std::string problem = open_libtorch_cuda();
  if (!problem.empty()) found().usable = {{}, problem};
}

RankDevice choose_device(Communicator& world, DeviceChoice choice) {
  if (choice == DeviceChoice::cpu) return {};
  const GpuChoice own = choose_gpu(found().usable, place_of(world));
  const Missing missing = missing_of(world, own.problem);
  if (!missing.problem.empty() && choice == DeviceChoice::cuda) {
    throw Error(ErrorCode::unavailable,
                concat("--device cuda: ", missing.problem, "; --device cpu trains without a GPU"));
  }
  if (!missing.problem.empty()) {
    if (missing.has_gpus && world.rank() == 0) {
      log(LogLevel::warn,
          concat("computing on the CPU although there are GPUs: ", missing.problem));
    }
    return {};
  }
  const Gpu& gpu = found().usable.gpus[static_cast<std::size_t>(own.index)];
  const RankDevice chosen{
      .gpu = own.index,
      .text = concat(gpu.name, " (", size_text(static_cast<std::uint64_t>(gpu.memory)), ")"),
      .has_bf16 = gpu.major >= 8,
      .idle_gpus = world.size() == 1 ? static_cast<int>(found().usable.gpus.size()) - 1 : 0};
  const c10::impl::VirtualGuardImpl guard(c10::kCUDA);
  guard.setDevice(device_of(chosen));
  // Products add in fp32 and round once (products.h). By default cuBLAS may round partial sums.
  at::globalContext().setAllowBF16ReductionCuBLAS(false);
  at::globalContext().setAllowFP16ReductionCuBLAS(false);
  return chosen;
}

c10::Device device_of(const RankDevice& rank_device) {
  if (rank_device.gpu < 0) return c10::kCPU;
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(rank_device.gpu)};
}

}  // namespace bp::trainer
