#include "comm/device/cuda_runtime.h"

#include <dlfcn.h>

#include <cstdlib>

#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

constexpr const char* kNames[] = {"libcudart.so.13", "libcudart.so.12"};
constexpr const char* kHint =
    "; install CUDA's runtime 12 or 13, or name its libcudart.so in BP_CUDA_RUNTIME; or use host "
    "memory";

struct Opened {
  void* handle = nullptr;
  std::string path = {};
};

// Libraries are never closed, because threads of theirs may run until the process ends.
Opened open_library() {
  const char* const asked = std::getenv("BP_CUDA_RUNTIME");
  if (asked != nullptr && *asked != '\0') {
    if (void* const handle = ::dlopen(asked, RTLD_NOW | RTLD_LOCAL)) return {handle, asked};
    throw Error(ErrorCode::unavailable,
                concat("BP_CUDA_RUNTIME names no library that loads: ", ::dlerror()));
  }
  for (const int loaded : {RTLD_NOLOAD, 0}) {
    for (const char* const name : kNames) {
      if (void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | loaded))
        return {handle, name};
    }
  }
  throw Error(ErrorCode::unavailable,
              concat("CUDA's runtime is not found (", kNames[0], ", ", kNames[1], ")", kHint));
}

template <class Function>
void find(const Opened& library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library.handle, name));
  if (function != nullptr) return;
  throw Error(ErrorCode::unavailable, concat(library.path, " has no ", name, kHint));
}

CudaRuntime load() {
  const Opened library = open_library();
  CudaRuntime runtime;
  runtime.path = library.path;
  find(library, "cudaDriverGetVersion", runtime.driver_version);
  find(library, "cudaRuntimeGetVersion", runtime.runtime_version);
  find(library, "cudaGetDeviceCount", runtime.device_count);
  find(library, "cudaGetDevice", runtime.get_device);
  find(library, "cudaSetDevice", runtime.set_device);
  find(library, "cudaDeviceGetPCIBusId", runtime.bus_id);
  find(library, "cudaMalloc", runtime.allocate);
  find(library, "cudaFree", runtime.free);
  find(library, "cudaHostAlloc", runtime.allocate_on_host);
  find(library, "cudaFreeHost", runtime.free_on_host);
  find(library, "cudaMemcpyAsync", runtime.copy);
  find(library, "cudaMemsetAsync", runtime.fill);
  find(library, "cudaStreamCreateWithFlags", runtime.create_stream);
  find(library, "cudaStreamDestroy", runtime.destroy_stream);
  find(library, "cudaStreamSynchronize", runtime.finish_stream);
  find(library, "cudaEventCreateWithFlags", runtime.create_event);
  find(library, "cudaEventDestroy", runtime.destroy_event);
  find(library, "cudaEventRecord", runtime.record_event);
  find(library, "cudaEventQuery", runtime.query_event);
  find(library, "cudaStreamWaitEvent", runtime.wait_event);
  find(library, "cudaGetErrorName", runtime.name_of_error);
  find(library, "cudaGetErrorString", runtime.text_of_error);
  return runtime;
}

}  // namespace

std::string CudaRuntime::error(Code code) const {
  return concat(name_of_error(code), " (", text_of_error(code), ")");
}

const CudaRuntime& cuda_runtime() {
  static const CudaRuntime kRuntime = load();
  return kRuntime;
}

std::string find_cuda_problem() try {
  const CudaRuntime& runtime = cuda_runtime();
  int count = 0;
  if (const auto code = runtime.device_count(&count); code != CudaRuntime::kSuccess) {
    return concat("CUDA finds no device: ", runtime.error(code));
  }
  return count > 0 ? "" : "CUDA finds no device; see CUDA_VISIBLE_DEVICES";
} catch (const Error& error) {
  return error.what();
}

}  // namespace bp
