// A test program that includes this file has the trainer's kernels for devices, on the host, and so
// have its children. It needs the fake CUDA runtime.
#pragma once

#include "tests/support/on_gpu.h"
#include "tests/support/places.h"

namespace bp::test {

inline const int kUsesModelKernels =
    use_fake("BP_MODEL_KERNELS", kTestsDir + "/libmodel_kernels_on_host.so");

}  // namespace bp::test
