// Gloo's plugin in a process with LibTorch, which exports a newer Gloo of its own, and both of them
// with other allocators than the C library's.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "bp/collective.h"
#include "tests/support/run_processes.h"

namespace bp::test {
namespace {

RANK_BODY(beside_torch) {
  const at::Tensor matrix = at::ones({64, 64});
  Communicator world = Communicator::create();
  for (const std::size_t count : {1, 1000, 1'000'000}) {
    std::vector<float> data(count, static_cast<float>(world.rank()));
    all_reduce(world, view(data));
    EXPECT_THAT(data, testing::Each(1.0F));
  }
  EXPECT_EQ(at::mm(matrix, matrix).sum().item<float>(), 64.0F * 64 * 64);
  world.finish();
  return 0;
}

TEST(BesideTorch, CollectivesWork) { run_processes("beside_torch", {.ranks = 2}); }

class Preloaded : public testing::TestWithParam<const char*> {};

// docs/acceptance.md, Launcher: Other allocators work, in collectives and in training.
TEST_P(Preloaded, CollectivesWork) {
  const std::string path = std::string("/usr/lib/x86_64-linux-gnu/") + GetParam();
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "an allocator to preload is not installed";
  run_processes("beside_torch", {.ranks = 2, .environment = {"LD_PRELOAD=" + path}});
}

INSTANTIATE_TEST_SUITE_P(Allocators,
                         Preloaded,
                         testing::Values("libjemalloc.so.2",
                                         "libtcmalloc_minimal.so.4",
                                         "libmimalloc.so.2"));

}  // namespace
}  // namespace bp::test
