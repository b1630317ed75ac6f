#include "bp/features.h"

#include "base/text.h"
#include "bp/error.h"
#include "comm/backend/common/registry.h"
#include "comm/device/cuda_runtime.h"
#include "comm/device/nccl_api.h"
#include "comm/device/open_cuda_kernels.h"

namespace bp {
namespace {

LibraryState state_of_cuda() try {
  const CudaRuntime& runtime = cuda_runtime();
  int version = 0;
  static_cast<void>(runtime.runtime_version(&version));
  return {"CUDA", concat(version / 1000, ".", version % 1000 / 10, " (", runtime.path, ")"),
          find_cuda_problem()};
} catch (const Error& error) {
  return {"CUDA", "", error.what()};
}

LibraryState state_of_nccl() try {
  const NcclApi& nccl = nccl_api();
  return {"NCCL", concat(nccl_version_text(nccl.number), " (", nccl.path, ")"),
          find_nccl_problem()};
} catch (const Error& error) {
  return {"NCCL", "", error.what()};
}

LibraryState state_of_kernels() {
  const std::string problem = find_cuda_kernels_problem();
  return {"kernels", problem.empty() ? "libbp_cuda.so" : "", problem};
}

}  // namespace

std::vector<LibraryState> library_states() {
  return {state_of_cuda(), state_of_nccl(), state_of_kernels()};
}

std::vector<BackendState> backend_states() {
  std::vector<BackendState> states;
  for (const BackendEntry& backend : backend_registry()) {
    states.push_back({std::string(backend.name), backend.find_problem()});
  }
  return states;
}

}  // namespace bp
