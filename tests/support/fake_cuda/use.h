// A test program that includes this file has the fake CUDA runtime, and so have its children.
#pragma once

#include <dlfcn.h>

#include <cstdlib>

#include "tests/support/fake_cuda/fake_cuda.h"

namespace bp::test {

inline const int kUsesFakeCuda = ::setenv("BP_CUDA_RUNTIME", BP_FAKE_CUDA, 1);

// Adds work to a stream that takes this time.
inline void pause_stream(void* stream, int milliseconds) {
  void* const library = ::dlopen(BP_FAKE_CUDA, RTLD_NOW);
  reinterpret_cast<FakeCudaPause*>(::dlsym(library, kFakeCudaPause))(stream, milliseconds);
}

}  // namespace bp::test
