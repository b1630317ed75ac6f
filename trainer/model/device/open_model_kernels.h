// Opens libbp_model_cuda.so, which exists where bp was built with a CUDA toolkit.
#pragma once

#include <string>

#include "trainer/model/device/model_kernels.h"

namespace bp::trainer::device {

// Returns the functions of the plugin beside the program, or of the library that BP_MODEL_KERNELS
// names. Throws Error (unavailable), with the reason, if there is none.
[[nodiscard]] const ModelKernels& model_kernels();

// Returns why model_kernels() will throw, or "".
[[nodiscard]] std::string find_model_kernels_problem();

}  // namespace bp::trainer::device
