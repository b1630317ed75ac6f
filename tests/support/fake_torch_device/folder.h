// The folder with the fake libtorch_cuda.so and the fake driver of NVIDIA, for LD_LIBRARY_PATH.
#pragma once

#include <string>

#include "tests/support/places.h"

namespace bp::test {

inline const std::string kFakeGpuDir = kTestsDir + "/fake_gpu";

}  // namespace bp::test
