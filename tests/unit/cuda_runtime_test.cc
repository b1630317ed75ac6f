// The real CUDA runtime of this machine, if it has one.
#include "comm/device/cuda_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bp/error.h"

namespace bp {
namespace {

// docs/acceptance.md, Devices: The real CUDA library tells its version and why there is no device.
TEST(CudaRuntime, TheRealLibraryTellsItsVersionAndWhyThereIsNoDevice) {
  try {
    static_cast<void>(cuda_runtime());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_EQ(find_cuda_problem(), error.what());
    GTEST_SKIP() << "this machine has no CUDA runtime: " << error.what();
  }
  int version = 0;
  EXPECT_EQ(cuda_runtime().runtime_version(&version), CudaRuntime::kSuccess);
  EXPECT_GE(version, 12000);
  const std::string problem = find_cuda_problem();
  if (!problem.empty()) {
    EXPECT_THAT(problem,
                testing::MatchesRegex("CUDA finds no device: cudaError[A-Za-z]+ \\(.+\\)"));
  }
}

}  // namespace
}  // namespace bp
