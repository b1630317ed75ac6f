#include "comm/device/cuda_runtime.h"

#include "base/system/plugin.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

constexpr const char* kHint =
    "; install CUDA's runtime 12 or 13, or name its libcudart.so in BP_CUDA_RUNTIME; or use host "
    "memory";

CudaRuntime load() {
  const SystemLibrary library("CUDA's runtime", "BP_CUDA_RUNTIME",
                              {"libcudart.so.13", "libcudart.so.12"}, kHint);
  CudaRuntime runtime;
  runtime.path = library.path();
  library.find("cudaDriverGetVersion", runtime.driver_version);
  library.find("cudaRuntimeGetVersion", runtime.runtime_version);
  library.find("cudaGetDeviceCount", runtime.device_count);
  library.find("cudaGetDevice", runtime.get_device);
  library.find("cudaSetDevice", runtime.set_device);
  library.find("cudaDeviceGetPCIBusId", runtime.bus_id);
  library.find("cudaMalloc", runtime.allocate);
  library.find("cudaFree", runtime.free);
  library.find("cudaHostAlloc", runtime.allocate_on_host);
  library.find("cudaFreeHost", runtime.free_on_host);
  library.find("cudaMemcpyAsync", runtime.copy);
  library.find("cudaMemsetAsync", runtime.fill);
  library.find("cudaStreamCreateWithFlags", runtime.create_stream);
  library.find("cudaStreamDestroy", runtime.destroy_stream);
  library.find("cudaStreamSynchronize", runtime.finish_stream);
  library.find("cudaEventCreateWithFlags", runtime.create_event);
  library.find("cudaEventDestroy", runtime.destroy_event);
  library.find("cudaEventRecord", runtime.record_event);
  library.find("cudaEventQuery", runtime.query_event);
  library.find("cudaStreamWaitEvent", runtime.wait_event);
  library.find("cudaGetErrorName", runtime.name_of_error);
  library.find("cudaGetErrorString", runtime.text_of_error);
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
