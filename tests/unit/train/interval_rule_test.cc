// When a checkpoint or an evaluation is due, and how a user says so.
// docs/acceptance.md, Training: Checkpoints are saved when due, and the right ones stay.
#include "trainer/train/loop/interval_rule.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "base/options/value_text.h"
#include "tests/unit/data/input_refusal.h"

namespace bp::trainer {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The steps of two epochs of 100 rows, 16 rows a step, after which a checkpoint is due.
std::vector<int> due_steps(const std::string& text, EpochPosition at = {}, int step = 0) {
  const RowSampler sampler({.rows = 100, .seed = 1, .ranks = 1, .batch = 16});
  IntervalRule rule(parse_intervals("--save-every", text), 100, at);
  std::vector<int> steps;
  while (at.epoch < 2) {
    at = sampler.after(at);
    if (rule.due(++step, at)) steps.push_back(step);
  }
  return steps;
}

// docs/features.md, Loop and checkpoints: Checkpoints by steps, time or epochs | `--save-every`
TEST(IntervalRule, BySteps) { EXPECT_THAT(due_steps("5"), ElementsAre(5, 10)); }

TEST(IntervalRule, ByEpochsAndTheirParts) {
  EXPECT_THAT(due_steps("1e"), ElementsAre(7, 14));
  EXPECT_THAT(due_steps("2e"), ElementsAre(14));
  EXPECT_THAT(due_steps("0.5e"), ElementsAre(4, 7, 11, 14));
  EXPECT_THAT(due_steps("0.75e"), ElementsAre(5, 11));
  EXPECT_THAT(due_steps("0.001e").size(), 14U);
  EXPECT_THAT(due_steps("0.5e", {0, 48}, 3), ElementsAre(4, 7, 11, 14)) << "resumed";
  EXPECT_THAT(due_steps("0.5e", {0, 64}, 4), ElementsAre(7, 11, 14)) << "resumed";
}

TEST(IntervalRule, Never) { EXPECT_THAT(due_steps("none"), IsEmpty()); }

TEST(IntervalRule, ByRows) {
  EXPECT_THAT(due_steps("50r"), ElementsAre(4, 7, 11, 14));
  EXPECT_THAT(due_steps("1r").size(), 14U);
  EXPECT_THAT(due_steps("150r"), ElementsAre(11));
}

TEST(IntervalRule, BySeveralAtOnce) {
  EXPECT_THAT(due_steps("5,1e"), ElementsAre(5, 7, 10, 14));
  EXPECT_THAT(due_steps("10,10m,50r"), ElementsAre(4, 7, 10, 11, 14));
}

TEST(IntervalRule, ByTimeSinceItWasLastDone) {
  IntervalRule::Clock::time_point now{};
  IntervalRule rule(parse_intervals("--save-every", "5,1m30s"), 100, {}, [&] { return now; });
  EXPECT_TRUE(rule.goes_by_time());
  now += 89s;
  EXPECT_FALSE(rule.time_is_up());
  now += 1s;
  EXPECT_TRUE(rule.time_is_up());
  EXPECT_FALSE(rule.due(2, {0, 32})) << "by steps";
  EXPECT_TRUE(rule.time_is_up()) << "nothing was done";
  rule.done();
  EXPECT_FALSE(rule.time_is_up());
  EXPECT_FALSE(IntervalRule(parse_intervals("--save-every", "5"), 100, {}).goes_by_time());
}

TEST(IntervalRule, OtherTextsAreRefused) {
  for (const char* text : {"", "0", "-5", "1.5", "0e", "e", "x", "1e5", "nan e", "0.0001e", "10 m",
                           "5x", "0s", "none ", "0r", "1.5r", "5,", ",5", "5,none"}) {
    EXPECT_EQ(
        test::input_refusal([&] { (void)parse_intervals("--save-every", text); }),
        std::string("2: --save-every: '") + text +
            "' is not a number of steps, epochs, rows or time | 100 for steps, 1e or 0.5e for "
            "epochs, 5000r for rows, 10m or 1h30m for time, several of them with commas between, "
            "or "
            "none");
  }
}

TEST(Duration, IsReadInDaysHoursMinutesAndSeconds) {
  EXPECT_EQ(parse_duration("45s"), 45s);
  EXPECT_EQ(parse_duration("90m"), 90min);
  EXPECT_EQ(parse_duration("2h30m"), 150min);
  EXPECT_EQ(parse_duration("1d1s"), 86'401s);
  EXPECT_EQ(parse_duration("1.5h"), 90min);
  for (const char* text :
       {"", "m", "30m2h", "1h1h", "-5m", "1h ", "2000d", "99999999999999999999s", "1000d1s"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

}  // namespace
}  // namespace bp::trainer
