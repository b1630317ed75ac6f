#include "comm/device/nccl_api.h"

#include <dlfcn.h>

#include <cstdlib>

#include "base/text.h"
#include "bp/error.h"
#include "comm/device/cuda_runtime.h"

namespace bp {
namespace {

constexpr const char* kLibrary = "libnccl.so.2";
constexpr const char* kWayOut =
    "; install NCCL 2.19 or newer, or name its libnccl.so.2 in BP_NCCL; or use the backend auto";

struct OpenedNccl {
  void* handle = nullptr;
  std::string path = {};
};

// Libraries are never closed, because threads of theirs may run until the process ends.
OpenedNccl open_nccl() {
  const char* const asked = std::getenv("BP_NCCL");
  if (asked != nullptr && *asked != '\0') {
    if (void* const handle = ::dlopen(asked, RTLD_NOW | RTLD_LOCAL)) return {handle, asked};
    throw Error(ErrorCode::unavailable,
                concat("BP_NCCL names no library that loads: ", ::dlerror()));
  }
  for (const int loaded : {RTLD_NOLOAD, 0}) {
    if (void* const handle = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL | loaded)) {
      return {handle, kLibrary};
    }
  }
  throw Error(ErrorCode::unavailable, concat("NCCL is not found (", kLibrary, ")", kWayOut));
}

template <class Function>
void find_in_nccl(const OpenedNccl& library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library.handle, name));
  if (function != nullptr) return;
  throw Error(ErrorCode::unavailable, concat(library.path, " has no ", name, kWayOut));
}

// All of them, or none.
void find_buffer_functions(const OpenedNccl& library, NcclApi& api) try {
  find_in_nccl(library, "ncclMemFree", api.free);
  find_in_nccl(library, "ncclCommRegister", api.add_buffer);
  find_in_nccl(library, "ncclCommDeregister", api.remove_buffer);
  find_in_nccl(library, "ncclMemAlloc", api.allocate);
} catch (const Error&) {
  api.allocate = nullptr;
}

NcclApi load_nccl() {
  const OpenedNccl library = open_nccl();
  NcclApi api;
  api.path = library.path;
  find_in_nccl(library, "ncclGetVersion", api.version);
  const NcclApi::Code code = api.version(&api.number);
  if (code != NcclApi::kSuccess || api.number < NcclApi::kOldestVersion) {
    throw Error(
        ErrorCode::unavailable,
        concat(library.path, " is NCCL ", nccl_version_text(api.number), ", too old", kWayOut));
  }
  find_in_nccl(library, "ncclGetUniqueId", api.unique_id);
  find_in_nccl(library, "ncclCommInitRankConfig", api.init);
  find_in_nccl(library, "ncclCommFinalize", api.finalize);
  find_in_nccl(library, "ncclCommDestroy", api.destroy);
  find_in_nccl(library, "ncclCommAbort", api.abort);
  find_in_nccl(library, "ncclRedOpCreatePreMulSum", api.create_scaled_sum);
  find_in_nccl(library, "ncclRedOpDestroy", api.destroy_reduction);
  find_in_nccl(library, "ncclCommGetAsyncError", api.async_error);
  find_in_nccl(library, "ncclGetErrorString", api.text_of_error);
  find_in_nccl(library, "ncclGetLastError", api.last_error);
  find_in_nccl(library, "ncclAllReduce", api.all_reduce);
  find_in_nccl(library, "ncclBroadcast", api.broadcast);
  find_in_nccl(library, "ncclReduce", api.reduce);
  find_in_nccl(library, "ncclAllGather", api.all_gather);
  find_in_nccl(library, "ncclReduceScatter", api.reduce_scatter);
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
