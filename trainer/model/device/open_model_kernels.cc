#include "trainer/model/device/open_model_kernels.h"

#include <cstdlib>

#include "base/system/plugin.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp::trainer::device {
namespace {

struct Opened {
  const ModelKernels* kernels = nullptr;
  std::string problem = {};  // empty if there are kernels
};

Opened open(const std::string& path) {
  const OpenedPlugin plugin = open_plugin(path, kModelKernelsEntry);
  if (!plugin.problem.empty()) {
    return {nullptr, concat("the plugin does not load: ", plugin.problem)};
  }
  auto* const entry = reinterpret_cast<ModelKernelsEntry*>(plugin.entry);
  if (entry == nullptr || entry()->version != ModelKernels::kVersion) {
    return {nullptr, concat(path, " is of another version of bp than this program")};
  }
  return {entry()};
}

Opened find() {
  const char* const named = std::getenv("BP_MODEL_KERNELS");
  if (named != nullptr && *named != '\0') return open(named);
  const FoundPlugin plugin = find_plugin("libbp_model_cuda.so");
  if (!plugin.path.empty()) return open(plugin.path);
  return {nullptr, concat("libbp_model_cuda.so was not found in: ", plugin.tried,
                          "; bp makes it if it is built with a CUDA toolkit")};
}

const Opened& opened() {
  static const Opened kOpened = find();
  return kOpened;
}

}  // namespace

const ModelKernels& model_kernels() {
  if (opened().kernels != nullptr) return *opened().kernels;
  throw Error(ErrorCode::unavailable, concat("no code for GPUs: ", opened().problem));
}

std::string find_model_kernels_problem() { return opened().problem; }

}  // namespace bp::trainer::device
