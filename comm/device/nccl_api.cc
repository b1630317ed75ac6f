#include "comm/device/nccl_api.h"

#include <dlfcn.h>

#include <cstdlib>

#include "base/system/plugin.h"
#include "base/text.h"
#include "bp/error.h"
#include "comm/device/cuda_runtime.h"

namespace bp {
namespace {

constexpr const char* kLibrary = "libnccl.so.2";
constexpr const char* kWayOut =
    "; install NCCL 2.19 or newer, or name its libnccl.so.2 in BP_NCCL; or use the backend auto";

// All of them, or none.
void find_buffer_functions(const SystemLibrary& library, NcclApi& api) try {
  library.find("ncclMemFree", api.free);
  library.find("ncclCommRegister", api.add_buffer);
  library.find("ncclCommDeregister", api.remove_buffer);
  library.find("ncclMemAlloc", api.allocate);
} catch (const Error&) {
  api.allocate = nullptr;
}

NcclApi load_nccl() {
  const SystemLibrary library("NCCL", "BP_NCCL", {kLibrary}, kWayOut);
  NcclApi api;
  api.path = library.path();
  library.find("ncclGetVersion", api.version);
  const NcclApi::Code code = api.version(&api.number);
  if (code != NcclApi::kSuccess || api.number < NcclApi::kOldestVersion) {
    throw Error(
        ErrorCode::unavailable,
        concat(library.path(), " is NCCL ", nccl_version_text(api.number), ", too old", kWayOut));
  }
  library.find("ncclGetUniqueId", api.unique_id);
  library.find("ncclCommInitRankConfig", api.init);
  library.find("ncclCommFinalize", api.finalize);
  library.find("ncclCommDestroy", api.destroy);
  library.find("ncclCommAbort", api.abort);
  library.find("ncclRedOpCreatePreMulSum", api.create_scaled_sum);
  library.find("ncclRedOpDestroy", api.destroy_reduction);
  library.find("ncclCommGetAsyncError", api.async_error);
  library.find("ncclGetErrorString", api.text_of_error);
  library.find("ncclGetLastError", api.last_error);
  library.find("ncclAllReduce", api.all_reduce);
  library.find("ncclBroadcast", api.broadcast);
  library.find("ncclReduce", api.reduce);
  library.find("ncclAllGather", api.all_gather);
  library.find("ncclReduceScatter", api.reduce_scatter);
  find_buffer_functions(library, api);
  return api;
}

}  // namespace

const NcclApi& nccl_api() {
  static const NcclApi kApi = load_nccl();
  return kApi;
}

bool is_nccl_at_hand() {
  const char* const asked = std::getenv("BP_NCCL");
  if (asked != nullptr && *asked != '\0') return true;
  return ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) != nullptr;
}

std::string nccl_version_text(int version) {
  return concat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

std::string find_nccl_problem() try {
  static_cast<void>(nccl_api());
  const std::string problem = find_cuda_problem();
  return problem.empty() ? "" : concat(problem, " (the backend auto needs none)");
} catch (const Error& error) {
  return error.what();
}

}  // namespace bp
