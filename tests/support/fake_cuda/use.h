// A test program that includes this file has the fake CUDA runtime, and so have its children.
#pragma once

#include <dlfcn.h>

#include "tests/support/fake_cuda/fake_cuda.h"
#include "tests/support/on_gpu.h"

namespace bp::test {

inline const int kUsesFakeCuda = use_fake("BP_CUDA_RUNTIME", BP_FAKE_CUDA);

// Adds work to a stream that takes this time. A real GPU has its own delays.
inline void pause_stream(void* stream, int milliseconds) {
  if (runs_on_gpu()) return;
  void* const library = ::dlopen(BP_FAKE_CUDA, RTLD_NOW);
  reinterpret_cast<FakeCudaPause*>(::dlsym(library, kFakeCudaPause))(stream, milliseconds);
}

}  // namespace bp::test
