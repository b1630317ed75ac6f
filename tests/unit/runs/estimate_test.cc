// What `bert_train estimate` makes of measured steps.
#include "trainer/runs/estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace bp::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

StepRecord record_of(std::int64_t step, std::int64_t samples, double per_second, double exposed) {
  StepRecord record;
  record.step = step;
  record.samples = samples;
  record.samples_per_s = per_second;
  record.comm_exposed_ms = exposed;
  return record;
}

TEST(MeanStep, LeavesOutTheWarmUpAndWeighsRecordsByTheirSteps) {
  Metrics metrics;
  metrics.steps = {record_of(1, 10, 0.1, 900),  // 100 s, before anything is warm
                   record_of(2, 20, 20, 100),   // 1 step of 10 samples in 0.5 s
                   record_of(4, 36, 8, 400)};   // 2 steps of 8 samples in 1 s each
  const MeasuredWorld mean = mean_step(metrics, 1);
  EXPECT_DOUBLE_EQ(mean.samples, 26.0 / 3);
  EXPECT_DOUBLE_EQ(mean.seconds, 2.5 / 3);
  EXPECT_DOUBLE_EQ(mean.seconds_exposed, 0.9 / 3);
}

// docs/features.md, Evaluation and reports: Parameters by size | `estimate`; `--parameter-table` of
// `estimate` and `report`; `summary.json`
TEST(ModelParts, AreSortedBySizeAndEqualLayersAreOne) {
  const std::vector<ModelPart> parts = joined_layers({{"embeddings", 500, 0},
                                                      {"layer 0", 300, 0},
                                                      {"layer 1", 300, 300},
                                                      {"layer 2", 300, 300},
                                                      {"head", 40, 40}});
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(parts[0].name, "layers 1-2");
  EXPECT_EQ(parts[0].parameters, 600);
  EXPECT_EQ(parts[0].trained, 600);
  EXPECT_EQ(parts[1].name, "embeddings");
  EXPECT_EQ(parts[2].name, "layer 0");
  EXPECT_EQ(parts[2].trained, 0);
  EXPECT_EQ(parts[3].name, "head");
}

TEST(ModelParts, OfOtherRatesStayApartAndShowThem) {
  const std::vector<ModelPart> parts = joined_layers(
      {{"embeddings", 500, 0, 0.5}, {"layer 0", 300, 300, 0.5}, {"layer 1", 300, 300, 1}});
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts_text(parts),
            "part        parameters  trained  frozen  rate factor\n"
            "embeddings         500        0     500            -\n"
            "layer 0            300      300       0          0.5\n"
            "layer 1            300      300       0            1\n"
            "all              1,100      600     500\n");
}

Estimate example() {
  Estimate e{.model = "tiny (2 layers, hidden 128, 700 words)"};
  e.parts = {{"embeddings", 1'500'000, 0}, {"layers 0-1", 400'000, 400'000}};
  e.peak = 300U << 20;
  e.memory = {.weights = 8U << 20, .gradients = 2U << 20, .moments = 4U << 20};
  e.world = {.name = "3+1", .ranks = 4, .samples = 128, .seconds = 0.25, .seconds_exposed = 0.05};
  e.measured = 20;
  e.epoch_steps = 100;
  e.steps = 1000;
  e.checkpoint = 12U << 20;
  e.checkpoints = 4;
  return e;
}

TEST(EstimateText, HasParametersMemoryTimeAndDisk) {
  const std::string text = estimate_text(example());
  EXPECT_THAT(text, HasSubstr("part        parameters  trained     frozen\n"
                              "embeddings   1,500,000        0  1,500,000\n"
                              "layers 0-1     400,000  400,000          0\n"
                              "all          1,900,000  400,000  1,500,000\n"));
  std::istringstream lines(text);
  std::string joined;  // with each fact on one line again
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80U) << line;
    joined += ' ' + line.substr(std::min(line.size(), line.find_first_not_of(' ')));
  }
  EXPECT_THAT(joined, HasSubstr("300.0 MiB, the most of 4 ranks (measured): weights 8.0 MiB"));
  EXPECT_THAT(joined, HasSubstr("activations and the program 286.0 MiB"));
  EXPECT_THAT(joined, HasSubstr("250 ms a step of 128 samples (mean of 20), 20.0 %"));
  EXPECT_THAT(joined, HasSubstr("100 steps an epoch: 25.0 s; 1,000 steps the run: 4:10"));
  EXPECT_THAT(text, HasSubstr("12.0 MiB a checkpoint, at most 4 at a time: 48.0 MiB"));
}

TEST(EstimateText, SaysWhatEachShardCostsIfRanksCanDivide) {
  Estimate e = example();
  EXPECT_THAT(estimate_text(e), Not(HasSubstr("--shard")));
  EXPECT_THAT(to_json(e), HasSubstr("\"shards\": []"));
  e.shard = Shard::host;
  const std::vector<ShardHost> hosts = {{.ranks = 3, .share = 0.75}, {.ranks = 1, .share = 0.25}};
  e.shards = shard_costs({.dense = 400U << 20, .moments = 2, .hosts = hosts});
  const std::string text = estimate_text(e);
  EXPECT_THAT(text, HasSubstr("this job takes --shard host;"));
  EXPECT_THAT(text, HasSubstr("\n--shard "));
  EXPECT_THAT(text, HasSubstr("\ngradients "));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  const std::string json = to_json(e);
  EXPECT_THAT(json, HasSubstr("\"shard\": \"host\""));
  EXPECT_THAT(json, HasSubstr("\"peak\": 2516582400"));  // 24 bytes a parameter
}

TEST(EstimateJson, HasTheMeasuredStepForScale) {
  const MeasuredWorld world = parse_measured_world(to_json(example()));
  EXPECT_EQ(world.name, "3+1");
  EXPECT_EQ(world.ranks, 4);
  EXPECT_EQ(world.samples, 128);
  EXPECT_EQ(world.seconds, 0.25);
  EXPECT_EQ(world.seconds_exposed, 0.05);
  EXPECT_ANY_THROW((void)parse_measured_world("{}"));
}

}  // namespace
}  // namespace bp::trainer
