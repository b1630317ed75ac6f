// The only code of bp's collectives that is compiled for CUDA devices.
#include "comm/device/kernels/launch.cuh"
#include "comm/device/kernels/operations.h"

extern "C" __attribute__((visibility("default"))) const bp::CudaKernels* bp_cuda_kernels() {
  static constexpr bp::CudaKernels kTable =
      bp::kernels::Operations<bp::kernels::DeviceLauncher>::table();
  return &kTable;
}
