// bp's kernels for CUDA devices, compiled for the host: they run on the streams of the fake CUDA
// runtime. bp opens this library in place of libbp_cuda.so (BP_CUDA_KERNELS).
#include <dlfcn.h>

#include <cstdlib>
#include <memory>

#include "comm/device/kernels/operations.h"
#include "tests/support/fake_cuda/fake_cuda.h"

namespace bp::kernels {
namespace {

FakeCudaLaunch* fake_launch() {
  void* const runtime = ::dlopen(std::getenv("BP_CUDA_RUNTIME"), RTLD_NOW);
  return reinterpret_cast<FakeCudaLaunch*>(::dlsym(runtime, kFakeCudaLaunch));
}

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
};

}  // namespace
}  // namespace bp::kernels

extern "C" __attribute__((visibility("default"))) const bp::CudaKernels* bp_cuda_kernels() {
  static constexpr bp::CudaKernels kTable =
      bp::kernels::Operations<bp::kernels::FakeLauncher>::table();
  return &kTable;
}
