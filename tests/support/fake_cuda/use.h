// A test program that includes this file has the fake CUDA runtime, and so have its children.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "comm/device/cuda_runtime.h"
#include "tests/support/fake_cuda/fake_cuda.h"
#include "tests/support/on_gpu.h"
#include "tests/support/places.h"

namespace bp::test {

inline const std::string kFakeCuda = kTestsDir + "/libfake_cuda.so";
inline const int kUsesFakeCuda = use_fake("BP_CUDA_RUNTIME", kFakeCuda);

// Adds work to a stream that takes this time. On a real GPU that is a call of the host.
inline void pause_stream(void* stream, int milliseconds) {
  if (!runs_on_gpu()) {
    void* const fake = ::dlopen(kFakeCuda.c_str(), RTLD_NOW);
    reinterpret_cast<FakeCudaPause*>(::dlsym(fake, kFakeCudaPause))(stream, milliseconds);
    return;
  }
  using Called = void(void*);
  using LaunchHostFunction = int(void* stream, Called*, void* argument);
  void* const library = ::dlopen(cuda_runtime().path.c_str(), RTLD_NOW);
  const auto launch = reinterpret_cast<LaunchHostFunction*>(::dlsym(library, "cudaLaunchHostFunc"));
  Called* const sleep = [](void* pause) {
    std::this_thread::sleep_for(std::chrono::milliseconds(reinterpret_cast<std::intptr_t>(pause)));
  };
  launch(stream, sleep, reinterpret_cast<void*>(static_cast<std::intptr_t>(milliseconds)));
}

// Returns the last copies between devices and the host.
inline std::vector<FakeCudaCopy> last_copies(std::size_t most) {
  void* const library = ::dlopen(kFakeCuda.c_str(), RTLD_NOW);
  std::vector<FakeCudaCopy> copies(most);
  copies.resize(
      reinterpret_cast<FakeCudaCopies*>(::dlsym(library, kFakeCudaCopies))(copies.data(), most));
  return copies;
}

// Returns how many copies from devices to the host are done; 0 on a real GPU, which does not tell.
inline std::ptrdiff_t copies_to_host() {
  if (runs_on_gpu()) return 0;
  const std::vector<FakeCudaCopy> copies = last_copies(1'000'000);
  return std::count_if(copies.begin(), copies.end(),
                       [](const FakeCudaCopy& copy) { return copy.to_host; });
}

// Returns how many bytes of host memory are pinned; 0 on a real GPU, which does not tell.
inline std::size_t pinned_bytes() {
  if (runs_on_gpu()) return 0;
  void* const library = ::dlopen(kFakeCuda.c_str(), RTLD_NOW);
  return reinterpret_cast<FakeCudaPinned*>(::dlsym(library, kFakeCudaPinned))();
}

}  // namespace bp::test
