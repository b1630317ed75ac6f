// The only code of bp that is compiled for CUDA devices.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "comm/device/kernels/operations.h"

namespace bp::kernels {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kMostBlocks = 4096;  // more than a device runs at once; each block loops

struct Addresses {
  void* at[kMostRanges];
};

template <class Body>
__global__ void for_each(std::size_t count, const Addresses addresses, const Body body) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    body(i, addresses.at);
  }
}

struct DeviceLauncher {
  template <class Body>
  static Code launch(Stream stream,
                     const char* /*name*/,
                     std::span<const Range> ranges,
                     std::size_t count,
                     const Body& body) {
    if (count == 0) return cudaSuccess;
    Addresses addresses{};
    for (std::size_t r = 0; r < ranges.size(); ++r) {
      addresses.at[r] = const_cast<void*>(ranges[r].memory);
    }
    const std::size_t blocks = std::min((count + kThreads - 1) / kThreads, kMostBlocks);
    for_each<<<static_cast<unsigned>(blocks), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
        count, addresses, body);
    return cudaGetLastError();
  }
};

}  // namespace
}  // namespace bp::kernels

extern "C" __attribute__((visibility("default"))) const bp::CudaKernels* bp_cuda_kernels() {
  static constexpr bp::CudaKernels kTable =
      bp::kernels::Operations<bp::kernels::DeviceLauncher>::table();
  return &kTable;
}
