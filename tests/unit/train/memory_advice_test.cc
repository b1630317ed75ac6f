#include "trainer/train/watch/memory_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <vector>

#include "bp/error.h"
#include "tests/unit/data/input_error_matcher.h"

namespace bp::trainer {
namespace {

StepBatches batches() {
  StepBatches batches;
  batches.step = 11;
  batches.micro_batches.resize(2);
  batches.micro_batches[0].rows = 31;
  batches.micro_batches[0].length = 100;
  batches.micro_batches[1].rows = 32;
  batches.micro_batches[1].length = 90;
  return batches;
}

// Where hosts divide the parameters, and so no rank can repeat a pass.
TEST(MemoryAdvice, NamesTheBatchAndASmallerOne) {
  RunSettings options;
  options.shard = Shard::parameters;
  options.batch = 32;
  options.accumulate = 2;
  const auto fail = [](const auto& error) { return [&error] { throw error; }; };
  const std::bad_alloc plain;
  expect_input_error(70, "out of memory at step 12, in a batch of 32 samples of up to 100 tokens",
                     "try --batch 16 --accumulate 4 (the same training in smaller pieces)",
                     [&] { advise_on_memory(batches(), options, fail(plain)); });
  const std::runtime_error allocator(
      "DefaultCPUAllocator: can't allocate memory: you tried to allocate 5 bytes. Error code 12");
  options.max_tokens = 512;
  options.accumulate = PerEpoch(std::vector{1, 3});
  expect_input_error(70, "out of memory at step 12",
                     "try --max-tokens 256 --accumulate 2,6 (about the same training",
                     [&] { advise_on_memory(batches(), options, fail(plain)); });
  options.max_tokens = 0;
  options.shard = Shard::gradients;  // the pieces of a batch have become as small as one sample
  expect_input_error(70, "out of memory at step 12", "try --max-length 50",
                     [&] { advise_on_memory(batches(), options, fail(allocator)); });
}

TEST(MemoryAdvice, LeavesOtherErrorsAlone) {
  EXPECT_THROW(
      advise_on_memory(batches(), RunSettings(), [] { throw std::runtime_error("shapes differ"); }),
      std::runtime_error);
}

// The texts of such errors quote that of the other rank.
// docs/acceptance.md, Devices: A step that fails for lack of GPU memory leaves a file with the
// memory of the steps before, on the rank that failed only.
TEST(MemoryAdvice, AnotherRanksMemoryIsNotThisOnes) {
  for (const ErrorCode code : {ErrorCode::peer_lost, ErrorCode::aborted}) {
    const Error error(code, "rank 1 has failed: out of memory at step 12");
    EXPECT_TRUE(is_of_another_rank(error));
    EXPECT_THROW(advise_on_memory(batches(), RunSettings(), [&] { throw error; }), Error);
  }
  EXPECT_FALSE(is_of_another_rank(Error(ErrorCode::io, "out of memory")));
  EXPECT_FALSE(is_of_another_rank(std::bad_alloc()));
}

}  // namespace
}  // namespace bp::trainer
