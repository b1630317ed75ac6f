// A test program that includes this file has the fake NCCL, and so have its children.
#pragma once

#include <dlfcn.h>

#include <string>

#include "tests/support/fake_nccl/fake_nccl.h"
#include "tests/support/on_gpu.h"
#include "tests/support/places.h"

namespace bp::test {

inline const std::string kFakeNccl = kTestsDir + "/libfake_nccl.so";
inline const int kUsesFakeNccl = use_fake("BP_NCCL", kFakeNccl);

// Returns how often this process has called a function of NCCL.
inline int nccl_calls(const char* function) {
  void* const library = ::dlopen(kFakeNccl.c_str(), RTLD_NOW);
  return reinterpret_cast<FakeNcclCalls*>(::dlsym(library, kFakeNcclCalls))(function);
}

}  // namespace bp::test
