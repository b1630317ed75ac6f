#include "comm/backend/common/registry.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "bp/error.h"
#include "comm/device/nccl_api.h"
#include "comm/transport/gloo.h"

namespace bp {
namespace {

// All of them use Gloo's transport: ranks that share memory send their messages by it.
std::string problem_of_gloo() {
  try {
    static_cast<void>(load_gloo_plugin());
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::string problem_of_nccl() {
  const std::string problem = problem_of_gloo();
  return problem.empty() ? find_nccl_problem() : problem;
}

constexpr std::array kHostMemory = {Device::Kind::host};
constexpr std::array kCudaMemory = {Device::Kind::cuda};

constexpr std::array kBackends = {
    BackendEntry{.id = BackendId::shm,
                 .name = "shm",
                 .what = "memory that the ranks of one host share",
                 .devices = kHostMemory,
                 .spans_hosts = false,
                 .no_choice = "it sends no messages",
                 .find_problem = problem_of_gloo},
    BackendEntry{.id = BackendId::gloo,
                 .name = "gloo",
                 .what = "bp's algorithms over Gloo's connections",
                 .devices = kHostMemory,
                 .find_problem = problem_of_gloo},
    BackendEntry{.id = BackendId::gloo_native,
                 .name = "gloo-native",
                 .what = "Gloo's own collectives, for comparison",
                 .devices = kHostMemory,
                 .no_choice = "it uses Gloo's own",
                 .find_problem = problem_of_gloo},
    BackendEntry{.id = BackendId::gloo_native_batch,
                 .name = "gloo-native-batch",
                 .what = "the same, with Gloo's thread scheduled as for gloo",
                 .devices = kHostMemory,
                 .no_choice = "it uses Gloo's own",
                 .find_problem = problem_of_gloo},
    BackendEntry{.id = BackendId::nccl,
                 .name = "nccl",
                 .what = "NVIDIA's NCCL for CUDA memory, and for host memory what auto chooses",
                 .devices = kCudaMemory,
                 .find_problem = problem_of_nccl},
};

}  // namespace

std::span<const BackendEntry> backend_registry() { return kBackends; }

const BackendEntry* find_backend(std::string_view name) {
  const auto* const found = std::ranges::find(kBackends, name, &BackendEntry::name);
  return found == kBackends.end() ? nullptr : found;
}

std::string backends_serving(Device::Kind kind) {
  std::string text;
  for (const BackendEntry& backend : kBackends) {
    if (std::ranges::find(backend.devices, kind) == backend.devices.end()) continue;
    text += concat(text.empty() ? "" : ", ", backend.name);
  }
  return text;
}

std::string backend_choices() {
  std::string text(kAutomaticBackend);
  for (const BackendEntry& backend : kBackends) text += concat(", ", backend.name);
  return text;
}

}  // namespace bp
