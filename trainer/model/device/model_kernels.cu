// The trainer's code for CUDA devices.
#include <cuda_runtime_api.h>

#include "comm/device/kernels/launch.cuh"
#include "trainer/model/device/model_operations.h"

namespace bp::trainer::device {
namespace {

using bp::kernels::Addresses;
using bp::kernels::kThreads;

template <int times, int lanes, class Body>
__global__ void __launch_bounds__(kThreads)
    for_rows(std::size_t rows, const Addresses addresses, const Body body) {
  const std::size_t step = std::size_t{gridDim.x} * (blockDim.x / lanes);
  for (std::size_t r = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / lanes; r < rows;
       r += step) {
    body(r, addresses.at, DeviceTeam<times, lanes>());
  }
}

struct DeviceLauncher {
  template <class Body>
  static Code each(Stream stream,
                   const char* name,
                   std::span<const Range> ranges,
                   std::size_t count,
                   const Body& body) {
    return bp::kernels::DeviceLauncher::launch(stream, name, ranges, count, body);
  }
  template <int times, int lanes, class Body>
  static Code rows(Stream stream,
                   const char* /*name*/,
                   std::span<const Range> ranges,
                   std::size_t rows,
                   const Body& body) {
    if (rows == 0) return cudaSuccess;
    for_rows<times, lanes>
        <<<bp::kernels::blocks_of(rows * lanes), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
            rows, bp::kernels::addresses_of(ranges), body);
    return cudaGetLastError();
  }
};

}  // namespace
}  // namespace bp::trainer::device

extern "C" __attribute__((visibility("default"))) const bp::trainer::device::ModelKernels*
bp_model_kernels() {
  using bp::trainer::device::DeviceLauncher;
  using bp::trainer::device::ModelKernels;
  using bp::trainer::device::ModelOperations;
  static constexpr ModelKernels kTable = ModelOperations<DeviceLauncher>::table();
  return &kTable;
}
