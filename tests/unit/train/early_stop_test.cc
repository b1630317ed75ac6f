// When a run ends early, by its evaluations and by its time.
// docs/acceptance.md, Training: Which score compares evaluations, and what ends a run early,
// follows stated rules.
#include "trainer/train/loop/early_stop.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace bp::trainer {
namespace {

using namespace std::chrono_literals;

const MainScore kAccuracy{"accuracy", true};
const MainScore kLoss{"loss", false};

// Returns the number of evaluations after which the run ends, or 0.
std::size_t ends_after(EarlyStop stop, const MainScore& metric, const std::vector<double>& scores) {
  for (std::size_t i = 0; i < scores.size(); ++i) {
    stop.evaluated({{{metric.key, scores[i]}}});
    if (stop.reason()) return i + 1;
  }
  return 0;
}

TEST(EarlyStop, PatienceCountsEvaluationsInARowWithoutAnImprovement) {
  const auto after = [](int patience, const std::vector<double>& scores) {
    return ends_after(EarlyStop({.patience = patience}, kAccuracy, {}), kAccuracy, scores);
  };
  EXPECT_EQ(after(2, {0.5, 0.5, 0.6, 0.6, 0.5, 0.7}), 5U) << "an equal score is not an improvement";
  EXPECT_EQ(after(3, {0.5, 0.4, 0.4, 0.6, 0.5, 0.5, 0.6}), 7U);
  EXPECT_EQ(after(0, {0.5, 0.4, 0.3, 0.2}), 0U);
  EXPECT_EQ(ends_after(EarlyStop({.patience = 1}, kLoss, {}), kLoss, {0.5, 0.4, 0.3, 0.31}), 4U)
      << "a lower loss is better";
}

TEST(EarlyStop, SmallImprovementsCountOnceTheirSumIsLargeEnough) {
  const EarlyStopOptions options{.patience = 3, .min_improvement = 0.0625};
  const auto after = [&](const std::vector<double>& scores) {
    return ends_after(EarlyStop(options, kAccuracy, {}), kAccuracy, scores);
  };
  EXPECT_EQ(after({0.5, 0.53125, 0.5625, 0.5625}), 4U) << "exactly that much is not more";
  EXPECT_EQ(after({0.5, 0.53125, 0.59375, 0.59375, 0.625, 0.65625}), 6U);
}

TEST(EarlyStop, AScoreThatIsNotANumberImprovesNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const EarlyStop stop({.patience = 2, .target = 0.1}, kAccuracy, {});
  EXPECT_EQ(ends_after(stop, kAccuracy, {nan, nan}), 2U);
  EXPECT_EQ(ends_after(EarlyStop({.patience = 2}, kAccuracy, {}), kAccuracy, {nan, 0.5, 0.4, nan}),
            4U);
}

TEST(EarlyStop, ATargetIsReachedInTheDirectionOfTheScore) {
  const EarlyStop up({.target = 0.75}, kAccuracy, {});
  EXPECT_EQ(ends_after(up, kAccuracy, {0.5, 0.74, 0.75}), 3U);
  const EarlyStop down({.target = 0.25}, kLoss, {});
  EXPECT_EQ(ends_after(down, kLoss, {0.5, 0.26, 0.2}), 3U);
  // A target that a small improvement reaches is reached.
  const EarlyStop both({.patience = 9, .min_improvement = 0.5, .target = 0.75}, kAccuracy, {});
  EXPECT_EQ(ends_after(both, kAccuracy, {0.7, 0.8}), 2U);
}

TEST(EarlyStop, ResumesWithWhatTheCheckpointHolds) {
  EarlyStop first({.patience = 3}, kAccuracy, {});
  for (const double score : {0.5, 0.6, 0.4, 0.4}) first.evaluated({{{"accuracy", score}}});
  EXPECT_FALSE(first.reason());
  CheckpointState state;
  state.improvement = first.improvement();
  const CheckpointState read = parse_state(to_json(state));
  EXPECT_EQ(read.improvement.best, 0.6);
  EXPECT_EQ(read.improvement.last, 0.4);
  EXPECT_EQ(read.improvement.without, 2);
  EarlyStop second({.patience = 3}, kAccuracy, read.improvement);
  EXPECT_FALSE(second.reason());
  second.evaluated({{{"accuracy", 0.5}}});
  ASSERT_EQ(second.reason(), RunEnd::patience);
  EXPECT_EQ(second.explain(RunEnd::patience),
            "the accuracy of dev did not improve in 3 evaluations in a row (--patience 3)");
  EXPECT_FALSE(EarlyStop({.patience = 4}, kAccuracy, second.improvement()).reason())
      << "more patience continues the run";
  const EarlyStop reached({.target = 0.5}, kAccuracy, second.improvement());
  ASSERT_EQ(reached.reason(), RunEnd::target);
  EXPECT_EQ(reached.explain(RunEnd::target),
            "the accuracy of dev, 0.5, reaches --target-score 0.5");
}

TEST(EarlyStop, TimeIsTheLastReason) {
  EarlyStop stop({.patience = 1, .max_time = 90s}, kAccuracy, {});
  EXPECT_FALSE(stop.reason(89.9));
  EXPECT_EQ(stop.reason(90), RunEnd::max_time);
  EXPECT_FALSE(EarlyStop({}, kAccuracy, {}).reason(1e9));
  for (int i = 0; i < 2; ++i) stop.evaluated({{{"accuracy", 0.5}}});
  EXPECT_EQ(stop.reason(90), RunEnd::patience);
  EXPECT_EQ(stop.explain(RunEnd::max_time), "the 1:30 of --max-time have passed");
}

TEST(TimeLimit, ContinuesTheTimeOfEarlierParts) {
  TimeLimit::Clock::time_point now{};
  const TimeLimit limit(60s, 50.5, [&] { return now; });
  EXPECT_EQ(limit.elapsed(), 50.5);
  now += 9s;
  EXPECT_FALSE(limit.passed());
  now += 500ms;
  EXPECT_TRUE(limit.passed());
  const TimeLimit none(0s, 1e9, [&] { return now; });
  EXPECT_FALSE(none.passed());
}

}  // namespace
}  // namespace bp::trainer
