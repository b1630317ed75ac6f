// A test program that includes this file has the fake NCCL, and so have its children.
#pragma once

#include <dlfcn.h>

#include "tests/support/fake_nccl/fake_nccl.h"
#include "tests/support/on_gpu.h"

namespace bp::test {

inline const int kUsesFakeNccl = use_fake("BP_NCCL", BP_FAKE_NCCL);

// Returns how often this process has called a function of NCCL.
inline int nccl_calls(const char* function) {
  void* const library = ::dlopen(BP_FAKE_NCCL, RTLD_NOW);
  return reinterpret_cast<FakeNcclCalls*>(::dlsym(library, kFakeNcclCalls))(function);
}

}  // namespace bp::test
