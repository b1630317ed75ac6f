#include "comm/device/open_cuda_kernels.h"

#include <cstdlib>
#include <string_view>

#include "base/system/plugin.h"
#include "base/text.h"
#include "bp/error.h"
#include "comm/device/cuda_runtime.h"

namespace bp {
namespace {

struct OpenedKernels {
  const CudaKernels* kernels = nullptr;
  std::string problem = {};  // empty if there are kernels
};

std::string_view setting(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? std::string_view() : text;
}

OpenedKernels open_kernels(const std::string& path) {
  const OpenedPlugin plugin = open_plugin(path, kCudaKernelsEntry);
  if (!plugin.problem.empty()) {
    return {nullptr, concat("the CUDA plugin does not load: ", plugin.problem)};
  }
  auto* const entry = reinterpret_cast<CudaKernelsEntry*>(plugin.entry);
  if (entry == nullptr || entry()->version != CudaKernels::kVersion) {
    return {nullptr, concat(path, " is of another version of bp than this program")};
  }
  return {entry()};
}

OpenedKernels find_kernels() {
  const std::string_view asked = setting("BP_CUDA_KERNELS");
  if (asked == "none") return {nullptr, "BP_CUDA_KERNELS is 'none'"};
  if (!asked.empty()) {
    OpenedKernels named = open_kernels(std::string(asked));
    if (named.kernels != nullptr) return named;
    throw Error(ErrorCode::unavailable, concat("BP_CUDA_KERNELS: ", named.problem));
  }
  if (!setting("BP_CUDA_RUNTIME").empty()) {
    return {nullptr, "BP_CUDA_RUNTIME names another runtime than the CUDA plugin's"};
  }
  // Loads the runtime first: the plugin then shares it.
  if (const std::string problem = find_cuda_problem(); !problem.empty()) return {nullptr, problem};
  const FoundPlugin plugin = find_plugin("libbp_cuda.so");
  if (!plugin.path.empty()) return open_kernels(plugin.path);
  return {nullptr, concat("libbp_cuda.so was not found in: ", plugin.tried,
                          "; bp makes it if it is built with a CUDA toolkit")};
}

const OpenedKernels& opened_kernels() {
  static const OpenedKernels kOpened = find_kernels();
  return kOpened;
}

}  // namespace

const CudaKernels* cuda_kernels() { return opened_kernels().kernels; }

std::string find_cuda_kernels_problem() try {
  return opened_kernels().problem;
} catch (const Error& error) {
  return error.what();
}

}  // namespace bp
