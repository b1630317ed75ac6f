// A test program that includes this file has the trainer's kernels for devices, on the host, and so
// have its children. It needs the fake CUDA runtime.
#pragma once

#include "tests/support/on_gpu.h"

namespace bp::test {

inline const int kUsesModelKernels = use_fake("BP_MODEL_KERNELS", BP_MODEL_KERNELS_ON_HOST);

}  // namespace bp::test
