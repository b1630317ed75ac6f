// Starts kernels that are compiled for the host on streams of the fake CUDA runtime.
#pragma once

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>

#include "comm/device/kernels/operations.h"
#include "tests/support/fake_cuda/fake_cuda.h"

namespace bp::kernels {

// A launcher for operations.h.
struct FakeLauncher {
  template <class Body>
  struct Work {
    std::size_t count;
    Body body;
  };

  template <class Body>
  static Code launch(Stream stream,
                     const char* name,
                     std::span<const Range> ranges,
                     std::size_t count,
                     const Body& body) {
    static FakeCudaLaunch* const kLaunch = fake_launch();
    if (count == 0) return 0;
    std::array<FakeCudaRange, kMostRanges> touched{};
    for (std::size_t r = 0; r < ranges.size(); ++r) {
      touched[r] = {ranges[r].memory, ranges[r].bytes, ranges[r].writes};
    }
    const auto run = [](void* const* at, void* argument) {
      const std::unique_ptr<Work<Body>> work(static_cast<Work<Body>*>(argument));
      for (std::size_t i = 0; i < work->count; ++i) work->body(i, at);
    };
    return kLaunch(stream, name, touched.data(), ranges.size(), run,
                   new Work<Body>{count, body});  // which `run` frees
  }

 private:
  static FakeCudaLaunch* fake_launch() {
    void* const runtime = ::dlopen(std::getenv("BP_CUDA_RUNTIME"), RTLD_NOW);
    return reinterpret_cast<FakeCudaLaunch*>(::dlsym(runtime, kFakeCudaLaunch));
  }
};

}  // namespace bp::kernels
