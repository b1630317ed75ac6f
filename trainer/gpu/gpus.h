// The GPUs that this process may use, as NVIDIA's driver lists them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bp::trainer {

struct Gpu {
  std::string name = {};    // "NVIDIA H200"
  std::int64_t memory = 0;  // bytes
  int major = 0;            // of its compute capability, such as 9 of 9.0
};

struct VisibleGpus {
  std::vector<Gpu> gpus = {};
  std::string problem = {};  // why there are none; empty if there are
};

// Asks the driver's library, libcuda.so.1, which it opens. CUDA_VISIBLE_DEVICES hides GPUs.
[[nodiscard]] VisibleGpus visible_gpus();

// What decides which of them a rank takes.
struct GpuPlace {
  int local_rank = 0;
  int local_ranks = 1;
  bool shares = false;  // CUDA_VISIBLE_DEVICES is set: bprun --share-gpus shows each rank only one
};

struct GpuChoice {
  int index = -1;            // of the visible ones; -1: none
  std::string problem = {};  // why none
};

// A rank takes the GPU with its number on its host. Ranks share a GPU only if they are shown a
// single one each.
[[nodiscard]] GpuChoice choose_gpu(const VisibleGpus& visible, const GpuPlace& place);

}  // namespace bp::trainer
