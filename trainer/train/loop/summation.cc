#include "trainer/train/loop/summation.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/core/Tensor.h>
#include <torch/version.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/torch/distributed_optimizer.h"
#include "bp/version.h"
#include "comm/torch/bucket_layout.h"
#include "trainer/common/hash.h"
#include "trainer/common/text_list.h"

namespace bp::trainer {
namespace {

// Returns "" for a model on the CPU, else ", NVIDIA H200", or ", cuda" for a GPU without a name.
std::string device_text(const Bert& model, const std::string& gpu) {
  const at::Device device = model.parameters().front().second.device();
  if (device.is_cpu()) return "";
  return ", " + (gpu.empty() ? c10::DeviceTypeName(device.type(), /*lower_case=*/true) : gpu);
}

// Describes the ranks in their order: "3 x 1 thread, AVX512; 1 x 2 threads, AVX2".
std::string machines(Communicator& world, const Bert& model, const std::string& gpu) {
  const int threads = at::get_num_threads();
  const std::string mine = concat(threads, threads == 1 ? " thread, " : " threads, ",
                                  at::get_cpu_capability(), device_text(model, gpu));
  std::vector<std::pair<std::string, int>> runs;  // consecutive ranks with the same text
  for (const std::string& one : all_gather_object(world, mine, {.name = "threads of each rank"})) {
    if (runs.empty() || runs.back().first != one) runs.emplace_back(one, 0);
    ++runs.back().second;
  }
  return list_of(runs, "; ", [](const auto& run) { return concat(run.second, " x ", run.first); });
}

std::string layout_of(const Bert& model) {
  const std::vector<std::string> sparse = model.sparse_gradients();
  std::vector<GradientSize> gradients;
  for (const auto& [name, parameter] : model.parameters()) {
    if (!parameter.requires_grad() || std::ranges::count(sparse, name) > 0) continue;
    gradients.push_back({static_cast<std::size_t>(parameter.numel()), DataType::f32});
  }
  const DistributedOptimizerOptions limits;
  Hash hash;
  for (const BucketPlan& bucket : plan_buckets(gradients, reverse_order(gradients.size()),
                                               {limits.first_bucket_bytes, limits.bucket_bytes})) {
    hash.add_number(static_cast<std::int64_t>(bucket.count));
    for (const Slot& slot : bucket.slots) {
      hash.add_number(static_cast<std::int64_t>(slot.parameter));
      hash.add_number(static_cast<std::int64_t>(slot.offset));
    }
  }
  return hash.hex();
}

}  // namespace

Summation summation_of(Communicator& world, const Bert& model, const std::string& gpu) {
  return {{"ranks of each host", list_of(world.topology().local_sizes, ",")},
          {"machines", machines(world, model, gpu)},
          {"backend", std::string(world.backend())},
          {"algorithm", std::string(world.algorithm())},
          {"bucket layout", layout_of(model)},
          {"LibTorch", TORCH_VERSION},
          {"bert_train", BP_VERSION}};
}

}  // namespace bp::trainer
