// bp's kernels for CUDA devices, compiled for the host: they run on the streams of the fake CUDA
// runtime. bp opens this library in place of libbp_cuda.so (BP_CUDA_KERNELS).
#include "comm/device/kernels/operations.h"
#include "tests/support/fake_cuda/launch.h"

extern "C" __attribute__((visibility("default"))) const bp::CudaKernels* bp_cuda_kernels() {
  static constexpr bp::CudaKernels kTable =
      bp::kernels::Operations<bp::kernels::FakeLauncher>::table();
  return &kTable;
}
