// A test program that includes this file has bp's kernels for devices, on the host, and so have its
// children. It needs the fake CUDA runtime.
#pragma once

#include "tests/support/on_gpu.h"
#include "tests/support/places.h"

namespace bp::test {

inline const int kUsesCudaKernels =
    use_fake("BP_CUDA_KERNELS", kTestsDir + "/libcuda_kernels_on_host.so");

}  // namespace bp::test
