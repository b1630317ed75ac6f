// Opens libbp_cuda.so, which computes on CUDA devices. It exists where bp was built with a CUDA
// toolkit. Without it bp computes factors, averages and casts of device memory on the host.
#pragma once

#include <string>

#include "comm/device/kernels/cuda_kernels.h"

namespace bp {

// Returns the functions of the plugin beside the program, or of the library that BP_CUDA_KERNELS
// names; null where there is none. Throws `unavailable` if BP_CUDA_KERNELS names no such library.
//
// A program that BP_CUDA_RUNTIME gives another runtime has only what BP_CUDA_KERNELS names, because
// the plugin would bring its own runtime. BP_CUDA_KERNELS=none means none.
[[nodiscard]] const CudaKernels* cuda_kernels();

// Returns why this process computes on the host, or "".
[[nodiscard]] std::string find_cuda_kernels_problem();

}  // namespace bp
