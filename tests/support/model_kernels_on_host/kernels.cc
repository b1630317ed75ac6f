// The trainer's kernels for CUDA devices, compiled for the host: they run on the streams of the
// fake CUDA runtime. bert_train opens this library in place of libbp_model_cuda.so
// (BP_MODEL_KERNELS).
#include "tests/support/fake_cuda/launch.h"
#include "trainer/model/device/model_operations.h"

namespace bp::trainer::device {
namespace {

struct FakeLauncher {
  template <class Body>
  static Code each(Stream stream,
                   const char* name,
                   std::span<const Range> ranges,
                   std::size_t count,
                   const Body& body) {
    return bp::kernels::FakeLauncher::launch(stream, name, ranges, count, body);
  }
  template <int times, int lanes, class Body>
  static Code rows(Stream stream,
                   const char* name,
                   std::span<const Range> ranges,
                   std::size_t rows,
                   const Body& body) {
    return bp::kernels::FakeLauncher::launch(
        stream, name, ranges, rows,
        [body](std::size_t row, void* const* at) { body(row, at, HostTeam<times, lanes>()); });
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
