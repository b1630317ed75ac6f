// RUN/bug/step-N/step.json.
#include "trainer/train/watch/failed_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/text.h"
#include "tests/support/scratch.h"
#include "tests/unit/data/input_refusal.h"

namespace bp::trainer {
namespace {

using ::testing::HasSubstr;

FailedStepFile example_step() {
  Batch batch;
  batch.rows = 2;
  batch.length = 3;
  batch.token_ids = {1, 2, 3, 4, 5, 0};
  batch.lengths = {3, 2};
  batch.sample_ids = {7, 8};
  batch.text_ids = {70, 80};
  batch.token_types = {0, 0, 1, 0, 1, 0};
  batch.arrays = {{.integers = {1, 0}}, {.width = 2, .reals = {0.1, std::nan(""), 3, 0}}};
  batch.arrays[1].sizes = {2, 1};
  return {.step = 5,
          .what = "the loss at step 5 is nan",
          .seed = 1ULL << 63,
          .recomputed_layers = 2,
          .loss_scale = 65536,
          .nominal_weight = 24,
          .frozen = {"bert.pooler.dense.bias"},
          .ranks = {{0, "a", {batch, batch}}, {1, "b", {}}}};
}

TEST(FailedStep, SurvivesItsFile) {
  const Scratch folder;
  const FailedStepFile step = example_step();
  folder.write("step.json", to_json(step));
  const FailedStepFile read = read_failed_step(folder.path());
  EXPECT_EQ(to_json(read), to_json(step));
  ASSERT_EQ(read.ranks.size(), 2U);
  ASSERT_EQ(read.ranks[0].batches.size(), 2U);
  const Batch& batch = read.ranks[0].batches[1];
  EXPECT_EQ(batch.token_types, step.ranks[0].batches[1].token_types);
  EXPECT_EQ(batch.arrays[0].integers, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(batch.arrays[1].reals[0], 0.1);
  EXPECT_TRUE(std::isnan(batch.arrays[1].reals[1]));
  EXPECT_EQ(read.seed, 1ULL << 63);
}

TEST(FailedStep, SaysWhatIsWrongWithItsFile) {
  const Scratch folder;
  const auto refusal = [&] {
    return test::input_refusal([&] { (void)read_failed_step(folder.path()); });
  };
  EXPECT_THAT(refusal(), HasSubstr(concat("66: cannot read ", folder.path(), "/step.json")));
  folder.write("step.json", "{\"format\": 2}");
  EXPECT_THAT(refusal(),
              HasSubstr("step.json is damaged: its format is 2, and this program knows 1"));
  FailedStepFile step = example_step();
  step.ranks[0].batches[0].lengths = {4, 2};
  folder.write("step.json", to_json(step));
  EXPECT_THAT(refusal(), HasSubstr("a sample of a batch has an impossible length"));
  step = example_step();
  step.ranks[0].batches[0].token_ids.pop_back();
  folder.write("step.json", to_json(step));
  EXPECT_THAT(refusal(), HasSubstr("the sizes of a batch contradict each other"));
}

}  // namespace
}  // namespace bp::trainer
