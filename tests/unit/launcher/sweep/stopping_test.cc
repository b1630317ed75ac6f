#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "bp/error.h"
#include "launcher/sweep/stopping/stopping_rule.h"

namespace bp::launcher::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TrialHistory history(TrialState state, const std::vector<double>& values, std::int64_t every = 1) {
  TrialHistory trial{.state = state};
  for (std::size_t i = 0; i < values.size(); ++i) {
    trial.reports.push_back({static_cast<std::int64_t>(i + 1) * every, values[i]});
  }
  return trial;
}

StoppingRule asha(StopSpec::Unit unit = StopSpec::Unit::reports, std::int64_t min = 1) {
  return StoppingRule({.rule = StopSpec::Rule::asha, .unit = unit, .min = min, .factor = 3},
                      Direction::max);
}

constexpr auto kRunning = TrialState::running;
constexpr auto kPaused = TrialState::paused;

TEST(SweepAsha, PausesUntilAThirdCanBePromoted) {
  const auto rule = asha();
  std::vector<TrialHistory> trials{history(kRunning, {0.5})};
  EXPECT_EQ(rule.decide(0, trials), Decision::pause_at_rung) << "a third of 1 is none";
  trials = {history(kPaused, {0.5}), history(kPaused, {0.7}), history(kRunning, {0.6})};
  EXPECT_EQ(rule.decide(2, trials), Decision::pause_at_rung) << "trial 1 is better";
  trials[2].state = kPaused;
  EXPECT_THAT(rule.promotable(trials), ElementsAre(1));
  trials[2] = history(kRunning, {0.8});
  EXPECT_EQ(rule.decide(2, trials), Decision::go_on) << "promoted at once";
  EXPECT_THAT(rule.promotable(trials), IsEmpty());
}

TEST(SweepAsha, DecidesAtRungsOnly) {
  const auto rule = asha();
  // Trial 0 was promoted from rung 1. Better ones came later.
  std::vector<TrialHistory> trials{history(kRunning, {0.5, 0.5}), history(kPaused, {0.7}),
                                   history(kPaused, {0.8})};
  EXPECT_EQ(rule.decide(0, trials), Decision::go_on);
  trials[0] = history(kRunning, {0.5, 0.5, 0.5});
  EXPECT_EQ(rule.decide(0, trials), Decision::pause_at_rung) << "the only one at rung 3";
  EXPECT_THAT(rule.promotable(trials), ElementsAre(2));
}

TEST(SweepAsha, PromotesTheHighestRungFirst) {
  const auto rule = asha();
  std::vector<TrialHistory> trials;
  for (const double value : {0.1, 0.2, 0.3}) {
    trials.push_back(history(kPaused, {value, value, value}));
  }
  for (int i = 0; i < 6; ++i) trials.push_back(history(kPaused, {0.9 + 0.01 * i}));
  // Nine have reached rung 1, of which three may be promoted; three have reached rung 3.
  EXPECT_THAT(rule.promotable(trials), ElementsAre(2, 8, 7, 6));
}

TEST(SweepAsha, PromotesABetterEarlierTrialOfEqualOnes) {
  const auto rule = asha();
  const std::vector<TrialHistory> trials(3, history(kPaused, {0.5}));
  EXPECT_THAT(rule.promotable(trials), ElementsAre(0));
}

TEST(SweepAsha, LetsNoTrialWithoutANumberWin) {
  const auto rule = asha();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<TrialHistory> trials{history(kPaused, {nan}), history(kPaused, {nan}),
                                         history(kPaused, {0.1})};
  EXPECT_THAT(rule.promotable(trials), ElementsAre(2));
}

TEST(SweepAsha, CountsStepsIfAsked) {
  const auto rule = asha(StopSpec::Unit::steps, 100);
  std::vector<TrialHistory> trials{history(kRunning, {0.5}, 60)};
  EXPECT_EQ(rule.decide(0, trials), Decision::go_on) << "step 60 is before rung 100";
  trials[0] = history(kRunning, {0.5, 0.6}, 60);
  EXPECT_EQ(rule.decide(0, trials), Decision::pause_at_rung) << "step 120 is the first after it";
  trials[0] = history(kRunning, {0.5, 0.6, 0.7}, 60);
  EXPECT_EQ(rule.decide(0, trials), Decision::go_on);
}

// Simulates one trial at a time. All reports of a trial have one value, and no two trials the same.
TEST(SweepAsha, SpendsWhatThePaperSays) {
  const auto rule = asha();
  std::vector<TrialHistory> trials;
  int reports = 0;
  const auto train = [&](std::size_t trial) {
    trials[trial].state = kRunning;
    while (trials[trial].state == kRunning) {
      auto& own = trials[trial].reports;
      own.push_back(
          {static_cast<std::int64_t>(own.size()) + 1, static_cast<double>(trial * 37 % 81)});
      ++reports;
      if (own.size() == 27)
        trials[trial].state = TrialState::finished;
      else if (rule.decide(trial, trials) == Decision::pause_at_rung)
        trials[trial].state = kPaused;
    }
  };
  while (true) {
    const auto promoted = rule.promotable(trials);
    if (!promoted.empty()) {
      train(promoted.front());
    } else if (trials.size() < 81) {
      trials.push_back({});
      train(trials.size() - 1);
    } else {
      break;
    }
  }
  const std::size_t best = 35;  // 35 * 37 = 15 * 81 + 80
  EXPECT_EQ(trials[best].state, TrialState::finished) << "the best trial trains to the end";
  // Synchronous halving takes 81 + 27 * 2 + 9 * 6 + 3 * 18 reports. Asynchronous halving also
  // promotes trials that later ones surpass. Without it there are 81 * 27.
  EXPECT_GE(reports, 243);
  EXPECT_LT(reports, 81 * 27 / 4);
}

StoppingRule median(int trials = 3, std::int64_t min = 1) {
  return StoppingRule({.rule = StopSpec::Rule::median, .min = min, .trials = trials},
                      Direction::max);
}

// docs/features.md, Searches: Weak trials stopped | `stop: median`, `stop: asha`
TEST(SweepMedian, StopsWhatIsBelowTheMedian) {
  const std::vector<TrialHistory> others{history(kRunning, {0.4, 0.6}), history(kRunning, {0.5}),
                                         history(TrialState::stopped, {0.1, 0.3, 0.9}),
                                         history(TrialState::finished, {0.7, 0.9})};
  auto with = [&](const std::vector<double>& values) {
    auto trials = others;
    trials.push_back(history(kRunning, values));
    return trials;
  };
  // The means up to the second report are 0.5, 0.2 and 0.8; one trial has no second.
  EXPECT_EQ(median().decide(4, with({0.1, 0.49})), Decision::stop);
  EXPECT_EQ(median().decide(4, with({0.1, 0.5})), Decision::go_on) << "equal is not worse";
  EXPECT_EQ(median().decide(4, with({0.51, 0.1})), Decision::go_on) << "its best value counts";
  EXPECT_EQ(median(4).decide(4, with({0.1, 0.1})), Decision::go_on) << "too few to compare";
  EXPECT_EQ(median(3, 3).decide(4, with({0.1, 0.1})), Decision::go_on) << "too early";
  EXPECT_EQ(median(4).decide(4, with({0.44})), Decision::stop) << "of four the middle is 0.45";
  EXPECT_EQ(median().decide(4, with({std::nan(""), std::nan("")})), Decision::stop);
}

TEST(SweepUntil, ReadsBothSigns) {
  EXPECT_TRUE(is_reached(parse_until("loss<0.5"), 0.5));
  EXPECT_FALSE(is_reached(parse_until("loss<=0.5"), 0.51));
  EXPECT_TRUE(is_reached(parse_until("accuracy>0.9"), 0.95));
  EXPECT_FALSE(is_reached(parse_until("accuracy>=9e-1"), 0.89));
  EXPECT_FALSE(is_reached(parse_until("accuracy>0.9"), std::nan("")));
  EXPECT_EQ(parse_until("a.b<1").metric, "a.b");
  for (const char* text : {"", "loss", "<1", "loss=1", "loss<", "loss<x", "loss<1 "}) {
    EXPECT_THROW((void)parse_until(text), Error) << text;
  }
}

}  // namespace
}  // namespace bp::launcher::sweep
