#include "trainer/optim/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace bp::trainer {
namespace {

TEST(Schedule, RisesToThePeakAndFallsTowardsZero) {
  const Schedule schedule{8.0, 10, 3};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0), 2.0);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 1), 4.0);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 2), 6.0);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 3), 8.0);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 4), 8.0 * 6 / 7);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 9), 8.0 / 7);
}

TEST(Schedule, WithoutWarmupBeginsAtThePeak) {
  EXPECT_DOUBLE_EQ(learning_rate({1.0, 4, 0}, 0), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate({1.0, 4, 0}, 3), 0.25);
}

TEST(Schedule, AWarmupAsLongAsTheRunStillReachesThePeak) {
  EXPECT_DOUBLE_EQ(learning_rate({1.0, 3, 3}, 2), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate({1.0, 1, 1}, 0), 1.0);
}

TEST(Schedule, InterpolatesBetweenTwoSteps) {
  const Schedule schedule{8.0, 10, 3};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0.5), 3.0);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 9.5), 8.0 * 0.5 / 7);
}

TEST(Schedule, HasOneOfSeveralShapes) {
  const Sampler sampler({.rows = 100, .seed = 1, .ranks = 1, .batch = 10});
  Options options;
  options.steps = 8;
  options.warmup = 0.5;
  options.extensions.schedules = {{"root", [](double left) { return std::sqrt(left); }}};
  EXPECT_THAT(schedule_names(options.extensions),
              ::testing::ElementsAre("linear", "cosine", "constant", "root"));
  const auto rates = [&](const std::string& name) {
    options.schedule = name;
    const Schedule schedule = make_schedule(options, sampler, 8.0);
    std::vector<double> all;
    for (const int step : {3, 4, 6, 7}) all.push_back(learning_rate(schedule, step));
    return all;
  };
  using ::testing::DoubleEq;
  using ::testing::ElementsAre;
  EXPECT_THAT(rates("linear"), ElementsAre(6.4, 8.0, 4.0, 2.0));
  EXPECT_THAT(rates("cosine"),
              ElementsAre(6.4, 8.0, DoubleEq(4.0), DoubleEq(4.0 * (1 - std::sqrt(0.5)))));
  EXPECT_THAT(rates("constant"), ElementsAre(6.4, 8.0, 8.0, 8.0));
  EXPECT_THAT(rates("root"), ElementsAre(6.4, 8.0, DoubleEq(8.0 * std::sqrt(0.5)), 4.0));
}

TEST(Schedule, DefaultsDependOnTheModel) {
  EXPECT_DOUBLE_EQ(default_learning_rate(128, false), 1e-3);
  EXPECT_DOUBLE_EQ(default_learning_rate(128, true), 1e-4);
  EXPECT_DOUBLE_EQ(default_learning_rate(768, true), 5e-5);
}

TEST(TotalSteps, AreStepsOrEpochs) {
  const Sampler sampler({.rows = 100, .seed = 1, .ranks = 2, .batch = 5});
  Options options;
  options.epochs = 3;
  EXPECT_EQ(total_steps(options, sampler, 0, {}), 30);
  EXPECT_EQ(total_steps(options, sampler, 12, {1, 20}), 30);
  // The five steps before were longer.
  EXPECT_EQ(total_steps(options, sampler, 5, {1, 75}), 5 + 3 + 10);
  options.steps = 7;
  EXPECT_EQ(total_steps(options, sampler, 5, {1, 75}), 7);
}

}  // namespace
}  // namespace bp::trainer
