#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "launcher/sweep/sampling/parzen.h"
#include "launcher/sweep/sampling/trial_sampler.h"
#include "tests/unit/launcher/sweep/search.h"

namespace bp::launcher::sweep {
namespace {

double median_regret(const TestFunction& function, const std::string& sampler, int at_once = 1) {
  std::vector<double> regrets;
  for (int seed = 0; seed < 20; ++seed) {
    regrets.push_back(regret_of(function, sampler, 60, seed, at_once));
  }
  std::sort(regrets.begin(), regrets.end());
  return (regrets[9] + regrets[10]) / 2;
}

class SweepTpeOn : public testing::TestWithParam<TestFunction> {};

// tests/oracle/sampler compares the same regrets with Optuna's.
// docs/features.md, Searches: Random search | `sampler: random`, and `tpe`, which learns from
// earlier trials
TEST_P(SweepTpeOn, BeatsRandomAtSixtyTrials) {
  const double random = median_regret(GetParam(), "random");
  EXPECT_LT(median_regret(GetParam(), "tpe"), 0.5 * random);
}

TEST(SweepTpeAtOnce, BeatsRandomWithTenTrialsAtATime) {
  const TestFunction& function = kTestFunctions[0];
  EXPECT_LT(median_regret(function, "tpe", 10), 0.8 * median_regret(function, "random"));
}

INSTANTIATE_TEST_SUITE_P(, SweepTpeOn, testing::ValuesIn(kTestFunctions), [](const auto& tested) {
  return std::string(tested.param.name);
});

// A block with one real parameter, and a history in which the trials around 0.3 are the best.
class SweepTpe : public testing::Test {
 protected:
  SweepTpe() {
    for (int index = 0; index < 40; ++index) {
      const double x = 0.025 * index;
      TrialHistory trial{.index = index, .parameters = {{"x", Value::of_real(x)}}};
      trial.state = TrialState::finished;
      trial.result = std::abs(x - 0.3);
      history_.push_back(trial);
    }
  }

  std::vector<double> proposals(Direction direction = Direction::min) {
    std::vector<double> found;
    const TrialSampler sampler(space_, 0, direction);
    for (int index = 40; index < 60; ++index) {
      found.push_back(number_at(sampler.next(index, history_)->parameters, "x"));
    }
    return found;
  }
  static std::ptrdiff_t near(const std::vector<double>& proposals, double x, double radius = 0.15) {
    return std::count_if(proposals.begin(), proposals.end(),
                         [&](double proposal) { return std::abs(proposal - x) < radius; });
  }

  Space space_ =
      parse_space("sampler: tpe\ntrials: 100\nparameters: {x: {uniform: [0, 1]}}", "s.yaml");
  std::vector<TrialHistory> history_;
};

TEST_F(SweepTpe, ProposesNearTheBestTrials) {
  EXPECT_GE(near(proposals(), 0.3), 18);
  EXPECT_GE(near(proposals(Direction::max), 0.975), 18);
}

TEST_F(SweepTpe, DependsOnSeedIndexAndHistoryOnly) {
  const auto first = proposals();
  EXPECT_EQ(first, proposals());
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), first.size());
  history_.pop_back();
  EXPECT_NE(first, proposals());
}

TEST_F(SweepTpe, IgnoresFailedTrialsAndResultsThatAreNoNumbers) {
  const auto first = proposals();
  TrialHistory failed{.index = 90, .parameters = {{"x", Value::of_real(0.8)}}};
  failed.state = TrialState::failed;
  failed.result = -5;
  history_.push_back(failed);
  EXPECT_EQ(first, proposals());
  history_.back().state = TrialState::finished;
  history_.back().result = std::numeric_limits<double>::quiet_NaN();
  EXPECT_GE(near(proposals(), 0.3), 17);
}

TEST_F(SweepTpe, AvoidsWhereTrialsRun) {
  EXPECT_GE(near(proposals(), 0.3, 0.05), 18);
  for (int i = 0; i < 20; ++i) {
    TrialHistory running{.index = 40 + i, .parameters = {{"x", Value::of_real(0.25 + 0.005 * i)}}};
    running.state = TrialState::running;
    history_.push_back(running);
  }
  std::vector<double> found;
  const TrialSampler sampler(space_, 0, Direction::min);
  for (int index = 60; index < 80; ++index) {
    found.push_back(number_at(sampler.next(index, history_)->parameters, "x"));
  }
  EXPECT_LE(near(found, 0.3, 0.05), 10);
}

TEST_F(SweepTpe, RanksStoppedTrialsBehindFinishedOnes) {
  for (int i = 0; i < 5; ++i) {
    TrialHistory stopped{.index = 40 + i, .parameters = {{"x", Value::of_real(0.8)}}};
    stopped.state = TrialState::stopped;
    stopped.result = -1;
    history_.push_back(stopped);
  }
  const auto next = TrialSampler(space_, 0, Direction::min).next(45, history_);
  EXPECT_NEAR(number_at(next->parameters, "x"), 0.3, 0.2);
}

TEST(SweepTpeRepeats, HaveTheParametersOfTheFirst) {
  const Space space = parse_space(
      "sampler: tpe\ntrials: 30\nrepeat: 2\nparameters: {x: {uniform: [0, 1]}}", "s.yaml");
  const TrialSampler sampler(space, 0, Direction::min);
  std::vector<TrialHistory> history;
  while (const auto plan = sampler.next(static_cast<int>(history.size()), history)) {
    TrialHistory trial{.index = plan->index, .parameters = plan->parameters};
    trial.state = TrialState::finished;
    trial.result = number_at(plan->parameters, "x") + 0.01 * plan->repeat;
    EXPECT_EQ(number_at(plan->parameters, "seed"), 1 + plan->repeat);
    if (plan->repeat == 1) {
      EXPECT_EQ(plan->parameters.front(), history.back().parameters.front());
    }
    history.push_back(trial);
  }
  EXPECT_EQ(history.size(), 60U);
}

// The density over an axis must have the integral 1, whatever the points are.
TEST(SweepParzen, IsADensity) {
  const std::vector<Axis> axes{{.kind = Axis::Kind::real, .low = -2, .high = 3},
                               {.kind = Axis::Kind::whole, .size = 4},
                               {.kind = Axis::Kind::category, .size = 3}};
  const ParzenMixture mixture(axes, {{-2, 0, 1}, {-1.9, 3, 1}, {2.5, 3, 0}});
  double sum = 0;
  constexpr int kCells = 2000;
  for (int cell = 0; cell < kCells; ++cell) {
    const double x = -2 + 5 * (cell + 0.5) / kCells;
    for (double whole = 0; whole < 4; ++whole) {
      for (double category = 0; category < 3; ++category) {
        sum += std::exp(mixture.log_density({x, whole, category})) * 5 / kCells;
      }
    }
  }
  EXPECT_NEAR(sum, 1, 1e-4);
}

TEST(SweepParzen, DrawsFromItsDensity) {
  const std::vector<Axis> axes{{.kind = Axis::Kind::whole, .size = 5}};
  const ParzenMixture mixture(axes, {{0}, {4}, {4}});
  Random random(1, 2, 3);
  std::vector<int> count(5);
  for (int i = 0; i < 20000; ++i) ++count[static_cast<std::size_t>(mixture.draw(random)[0])];
  for (std::size_t i = 0; i < 5; ++i) {
    const double expected = 20000 * std::exp(mixture.log_density({static_cast<double>(i)}));
    EXPECT_NEAR(count[i], expected, 5 * std::sqrt(expected)) << i;
  }
}

}  // namespace
}  // namespace bp::launcher::sweep
