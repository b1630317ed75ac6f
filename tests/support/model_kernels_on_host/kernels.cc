// The trainer's kernels for CUDA devices, compiled for the host: they run on the streams of the
// fake CUDA runtime. bert_train opens this library in place of libbp_model_cuda.so
// (BP_MODEL_KERNELS).
#include <dlfcn.h>

#include <cstdlib>
#include <memory>

#include "tests/support/fake_cuda/fake_cuda.h"
#include "trainer/model/device/model_operations.h"

namespace bp::trainer::device {
namespace {

FakeCudaLaunch* fake_launch() {
  void* const runtime = ::dlopen(std::getenv("BP_CUDA_RUNTIME"), RTLD_NOW);
  return reinterpret_cast<FakeCudaLaunch*>(::dlsym(runtime, kFakeCudaLaunch));
}

// Calls body(i, at) for each i below `count` on the stream.
template <class Body>
Code launch(Stream stream,
            const char* name,
            std::span<const Range> ranges,
            std::size_t count,
            const Body& body) {
  struct Work {
    std::size_t count;
    Body body;
  };
  static FakeCudaLaunch* const kLaunch = fake_launch();
  if (count == 0) return 0;
  std::array<FakeCudaRange, bp::kernels::kMostRanges> touched{};
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    touched[r] = {ranges[r].memory, ranges[r].bytes, ranges[r].writes};
  }
  const auto run = [](void* const* at, void* argument) {
    const std::unique_ptr<Work> work(static_cast<Work*>(argument));
    for (std::size_t i = 0; i < work->count; ++i) work->body(i, at);
  };
  return kLaunch(stream, name, touched.data(), ranges.size(), run,
                 new Work{count, body});  // which `run` frees
}

struct FakeLauncher {
  template <class Body>
  static Code each(Stream stream,
                   const char* name,
                   std::span<const Range> ranges,
                   std::size_t count,
                   const Body& body) {
    return launch(stream, name, ranges, count, body);
  }
  template <int times, int lanes, class Body>
  static Code rows(Stream stream,
                   const char* name,
                   std::span<const Range> ranges,
                   std::size_t rows,
                   const Body& body) {
    return launch(stream, name, ranges, rows, [body](std::size_t row, void* const* at) {
      body(row, at, HostTeam<times, lanes>());
    });
  }
};

}  // namespace
}  // namespace bp::trainer::device

extern "C" __attribute__((visibility("default"))) const bp::trainer::device::ModelKernels*
bp_model_kernels() {
  using bp::trainer::device::FakeLauncher;
  using bp::trainer::device::ModelKernels;
  using bp::trainer::device::ModelOperations;
  static constexpr ModelKernels kTable = ModelOperations<FakeLauncher>::table();
  return &kTable;
}
