// Which GPU a rank takes, of those that it sees.
#include "trainer/gpu/gpus.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/text.h"

namespace bp::trainer {
namespace {

VisibleGpus some(std::size_t count) {
  VisibleGpus visible;
  visible.gpus.resize(count);
  if (count == 0) visible.problem = "there is no driver";
  return visible;
}

// docs/acceptance.md, Devices: A rank takes the GPU with its number on its host.
TEST(GpuOfARank, IsTheOneWithItsNumberOnItsHost) {
  struct Case {
    std::size_t gpus = 0;
    GpuPlace place;
    int index = -1;
  };
  // bprun --share-gpus shows a rank one GPU, and other jobs show fewer than the host has.
  const std::vector<Case> cases = {
      {1, {.local_rank = 0, .local_ranks = 1}, 0},
      {4, {.local_rank = 0, .local_ranks = 1}, 0},
      {4, {.local_rank = 0, .local_ranks = 4}, 0},
      {4, {.local_rank = 3, .local_ranks = 4}, 3},
      {4, {.local_rank = 1, .local_ranks = 2}, 1},
      {2, {.local_rank = 1, .local_ranks = 2, .shares = true}, 1},
      {1, {.local_rank = 0, .local_ranks = 1, .shares = true}, 0},
      {1, {.local_rank = 0, .local_ranks = 2, .shares = true}, 0},
      {1, {.local_rank = 1, .local_ranks = 2, .shares = true}, 0},
      {1, {.local_rank = 7, .local_ranks = 8, .shares = true}, 0},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(concat(one.gpus, " GPUs, rank ", one.place.local_rank, " of ",
                        one.place.local_ranks, one.place.shares ? ", which share" : ""));
    const GpuChoice choice = choose_gpu(some(one.gpus), one.place);
    EXPECT_EQ(choice.index, one.index);
    EXPECT_EQ(choice.problem, "");
  }
}

// No rank of the host takes one then, so that all of them compute on the same kind of device.
TEST(GpuOfARank, IsNoneIfTheRanksAreMoreThanTheGpus) {
  struct Case {
    std::size_t gpus = 0;
    GpuPlace place;
    std::string sees;
  };
  const std::vector<Case> cases = {
      {1, {.local_rank = 0, .local_ranks = 2}, "the 2 ranks of this host see 1 GPU; "},
      {1, {.local_rank = 1, .local_ranks = 2}, "the 2 ranks of this host see 1 GPU; "},
      {2, {.local_rank = 0, .local_ranks = 3}, "the 3 ranks of this host see 2 GPUs; "},
      {2, {.local_rank = 2, .local_ranks = 3}, "the 3 ranks of this host see 2 GPUs; "},
      {2,
       {.local_rank = 2, .local_ranks = 3, .shares = true},
       "the 3 ranks of this host see 2 GPUs; "},
  };
  for (const Case& one : cases) {
    const GpuChoice choice = choose_gpu(some(one.gpus), one.place);
    EXPECT_EQ(choice.index, -1);
    EXPECT_EQ(choice.problem, one.sees + "bprun --gpus all --share-gpus lets them share");
  }
}

TEST(GpuOfARank, IsNoneWithTheReasonWhereThereIsNone) {
  for (const bool shares : {false, true}) {
    const GpuChoice choice = choose_gpu(some(0), {.shares = shares});
    EXPECT_EQ(choice.index, -1);
    EXPECT_EQ(choice.problem, "there is no driver");
  }
}

}  // namespace
}  // namespace bp::trainer
