#include "trainer/optim/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "base/text.h"
#include "tests/unit/data/input_refusal.h"
#include "trainer/commands/command_line.h"
#include "trainer/optim/rates.h"

namespace bp::trainer {
namespace {

// docs/features.md, Optimization: Warm-up and linear decay | `--schedule linear`; `--warmup` as a
// share or in epochs
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

// docs/features.md, Optimization: A constant or a cyclic rate | `--schedule constant`, `--schedule
// cyclic` with `--cycle`
TEST(Schedule, HasOneOfSeveralShapes) {
  const RowSampler sampler({.rows = 100, .seed = 1, .ranks = 1, .batch = 10});
  RunSettings options;
  options.steps = 8;
  options.warmup = 0.5;
  options.extensions.schedules = {{"root", [](double left) { return std::sqrt(left); }}};
  EXPECT_THAT(schedule_names(options.extensions),
              ::testing::ElementsAre("linear", "cosine", "constant", "polynomial", "step",
                                     "inverse-sqrt", "cyclic", "root"));
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

class ScheduleOptions : public ::testing::Test {
 protected:
  ScheduleOptions() {
    options_.steps = 20;
    options_.warmup = 0.2;
  }
  // The rates at these steps of 20, of which 4 are the warm-up, for a highest rate of 8.
  [[nodiscard]] std::vector<double> rates(const std::vector<double>& steps) const {
    const RowSampler sampler({.rows = 100, .seed = 1, .ranks = 1, .batch = 10});
    const Schedule schedule = make_schedule(options_, sampler, 8.0);
    std::vector<double> all;
    for (const double step : steps) all.push_back(learning_rate(schedule, step));
    return all;
  }
  RunSettings options_;
};

// docs/acceptance.md, Training: Schedules of the learning rate follow their formulas.
// docs/features.md, Optimization: Polynomial decay, and a rate for each epoch | `--schedule
// polynomial`, `--end-lr`, `--power`, `--force-anneal`; `--lr` with a list
TEST_F(ScheduleOptions, APolynomialFallsToItsEnd) {
  options_.schedule = "polynomial";
  EXPECT_EQ(rates({3, 4, 12, 19}), (std::vector<double>{6.4, 8, 4, 0.5})) << "by default a line";
  options_.power = 2;
  options_.end_lr = 4;
  EXPECT_EQ(rates({3, 4, 8, 12, 16}), (std::vector<double>{6.4, 8, 6.25, 5, 4.25}));
}

// docs/features.md, Optimization: A schedule that is longer than the run, and a rate to fall to |
// `--schedule-length`, `--end-lr`
TEST_F(ScheduleOptions, ALineMayEndLaterAndHigher) {
  options_.end_lr = 4;
  EXPECT_EQ(rates({3, 4, 12, 16}), (std::vector<double>{6.4, 8, 6, 5}));
  options_.schedule = "cosine";
  EXPECT_EQ(rates({4, 12}), (std::vector<double>{8, 6}));
  options_.schedule = "linear";
  options_.end_lr = -1;
  options_.warmup_steps = 4;
  options_.schedule_length = every_steps(36);
  EXPECT_EQ(rates({3, 4, 12, 19}), (std::vector<double>{6.4, 8, 6, 8 * 17 / 32.0}));
  options_.steps = 0;
  options_.epochs = 2;  // 20 steps
  options_.schedule_length = Interval{.epochs = 3.6};
  EXPECT_EQ(rates({3, 4, 12, 19}), (std::vector<double>{6.4, 8, 6, 8 * 17 / 32.0}));
  options_.schedule_length = every_steps(19);
  EXPECT_THROW((void)rates({0}), InputError);
}

// docs/features.md, Optimization: Decay in steps | `--schedule step`; `--decay-every` in steps or
// epochs
TEST_F(ScheduleOptions, StepsFallByAFactorAfterTheWarmup) {
  options_.schedule = "step";
  options_.decay_every = every_steps(5);
  options_.decay_factor = 0.5;
  EXPECT_EQ(rates({3, 4, 8, 9, 13.5, 14, 18, 19}), (std::vector<double>{6.4, 8, 8, 4, 4, 2, 2, 1}));
  EXPECT_EQ(rates({8.9999999}), std::vector<double>{4}) << "step 9, up to rounding";
  options_.decay_factor = -1;
  EXPECT_EQ(rates({4, 9}), (std::vector<double>{8, 8 * 0.1}));
}

// Ten steps an epoch, of which the first half is the warm-up.
TEST_F(ScheduleOptions, WarmupAndFallsMayBeEpochs) {
  options_.schedule = "step";
  options_.warmup_epochs = 0.5;
  options_.decay_every = Interval{.epochs = 0.5};
  options_.decay_factor = 0.5;
  EXPECT_EQ(rates({3, 4, 5, 9, 10, 14, 15, 19}),
            (std::vector<double>{8 * 4 / 6.0, 8 * 5 / 6.0, 8, 8, 4, 4, 2, 2}));
  options_.warmup_epochs = 0;
  options_.warmup = 0.2;
  EXPECT_EQ(rates({3, 4, 5, 9, 10}), (std::vector<double>{6.4, 8, 4, 4, 2}))
      << "a share as before, and the falls at the same steps";
  options_.warmup_steps = 2;
  EXPECT_EQ(rates({0, 1, 2}), (std::vector<double>{8 / 3.0, 8 * 2 / 3.0, 8})) << "steps";
}

// The first epoch has 5 steps, the second and third 10. The run resumes in the middle of the first
// one with a schedule of its own.
TEST_F(ScheduleOptions, EpochsMayHaveDifferentLengths) {
  const RowSampler sampler({.rows = 100,
                            .seed = 1,
                            .ranks = 1,
                            .batch = 10,
                            .micro_batches = PerEpoch<int>(std::vector{2, 1})});
  options_.steps = 0;
  options_.epochs = 3;
  options_.schedule = "step";
  options_.warmup = 0;
  options_.decay_every = {.epochs = 1};
  options_.decay_factor = 0.5;
  const Rates whole(options_, sampler, 8.0);
  EXPECT_EQ(whole.at({4, {0, 80}}), 8);
  EXPECT_EQ(whole.at({5, {1, 0}}), 4);
  EXPECT_EQ(whole.at({14, {1, 90}}), 4);
  EXPECT_EQ(whole.at({15, {2, 0}}), 2);
  options_.warmup_epochs = 1;
  const Rates later(options_, sampler, 8.0, {2, {0, 40}});
  EXPECT_EQ(later.at({2, {0, 40}}), 8 / 8.0) << "7 steps: 3 of the first epoch, 4 of the second";
  EXPECT_EQ(later.at({9, {1, 40}}), 8);
}

TEST_F(ScheduleOptions, TheInverseSquareRootGoesOnFromTheWarmup) {
  options_.schedule = "inverse-sqrt";
  EXPECT_EQ(rates({0, 3, 4, 19}), (std::vector<double>{1.6, 6.4, 8, 4}));
  options_.warmup = 0;
  EXPECT_EQ(rates({0, 3, 15}), (std::vector<double>{8, 4, 2}));
}

// torch's CyclicLR begins at the lowest rate: it has these rates from the middle of a cycle on.
TEST_F(ScheduleOptions, ACycleFallsAndRises) {
  options_.schedule = "cyclic";
  options_.cycle = 8;
  options_.end_lr = 4;
  EXPECT_EQ(rates({3, 4, 5, 6, 8, 10, 12, 16, 19}),
            (std::vector<double>{6.4, 8, 7, 6, 4, 6, 8, 4, 7}));
  options_.end_lr = -1;
  EXPECT_EQ(rates({4, 6, 8}), (std::vector<double>{8, 4, 0})) << "by default to 0";
}

// Two epochs of 10 steps and one that is shorter.
TEST_F(ScheduleOptions, AListHasTheHighestRateOfEachEpoch) {
  const RowSampler sampler({.rows = 100, .seed = 1, .ranks = 1, .batch = 10});
  options_.steps = 0;
  options_.epochs = 2.5;
  options_.warmup = 0;
  options_.schedule = "constant";
  const PerEpoch<double> list(std::vector{8.0, 4.0, 1.0});
  const Rates rates(options_, sampler, list);
  EXPECT_EQ(rates.at({0, {0, 0}}), 8) << "the first epoch has the first rate";
  EXPECT_EQ(rates.at({9, {0, 90}}), 8);
  EXPECT_EQ(rates.at({10, {1, 0}}), 4);
  EXPECT_EQ(rates.at({24, {2, 40}}), 1);
  options_.schedule = "polynomial";
  options_.end_lr = 0.5;
  const Rates falling(options_, sampler, list);
  EXPECT_EQ(falling.at({20, {2, 0}}), 0.5 + 0.5 * 5 / 25);
}

TEST_F(ScheduleOptions, FromAnEpochOnTheRateStays) {
  const RowSampler sampler({.rows = 100, .seed = 1, .ranks = 1, .batch = 10});
  options_.steps = 0;
  options_.epochs = 4;
  options_.warmup = 0;
  options_.force_anneal = 3;
  const Rates rates(options_, sampler, PerEpoch<double>(std::vector{8.0, 4.0, 1.0}));
  EXPECT_EQ(rates.at({19, {1, 90}}), 4.0 * 21 / 40);
  EXPECT_EQ(rates.at({20, {2, 0}}), 4.0 * 21 / 40) << "also in place of another one of the list";
  EXPECT_EQ(rates.at({39, {3, 90}}), 4.0 * 21 / 40);
}

TEST_F(ScheduleOptions, ASecondBeginningCoversTheRestOfTheRun) {
  const RowSampler sampler({.rows = 100, .seed = 1, .ranks = 1, .batch = 10});
  options_.warmup = 0;
  const Rates by_steps(options_, sampler, 8.0, {.step = 12, .position = {1, 20}});
  EXPECT_EQ(by_steps.at({12, {1, 20}}), 8);
  EXPECT_EQ(by_steps.at({16, {1, 60}}), 4);
  options_.steps = 0;
  options_.epochs = 2;
  const Rates by_epochs(options_, sampler, 8.0, {.step = 12, .position = {1, 20}});
  EXPECT_EQ(by_epochs.at({16, {1, 60}}), 4);
  EXPECT_EQ(by_epochs.done({16, {1, 60}}), 0.5);
}

TEST_F(ScheduleOptions, WithoutEffectAreRefused) {
  const auto refusal = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"data.csv"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::input_refusal([&] { (void)parse_command_line(arguments); });
  };
  EXPECT_EQ(refusal({"--power", "2"}),
            "2: --power has no effect with --schedule linear | leave it out, or choose --schedule "
            "polynomial");
  EXPECT_EQ(refusal({"--schedule", "cosine", "--decay-every", "5"}),
            "2: --decay-every has no effect with --schedule cosine | leave it out, or choose "
            "--schedule step");
  EXPECT_EQ(
      refusal({"--schedule", "step"}),
      "2: --schedule step needs --decay-every | the number of steps, or of epochs (1e), after "
      "which the rate falls");
  EXPECT_EQ(
      refusal({"--schedule", "step", "--decay-every", "0e"}),
      "2: --decay-every: '0e' is not a number of steps or epochs | 100 for steps, 1e or 0.5e for "
      "epochs");
  const auto settings_with = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"data.csv"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return value_of(std::get<TrainOptions>(parse_command_line(arguments).options).settings,
                    "warmup");
  };
  EXPECT_EQ(settings_with({}), "0.1") << "a resumed run compares it with that of its checkpoint";
  EXPECT_EQ(settings_with({"--warmup", "0.5e"}), "0.5e");
  for (const char* wrong : {"1.5", "-0.1", "0e", "100s", "epochs", "nan"}) {
    EXPECT_EQ(
        refusal({"--warmup", wrong}),
        concat(
            "2: --warmup: '", wrong,
            "' is neither a share of the steps from 0 to 1 nor a number of steps or epochs | 0.1 "
            "for a tenth of the steps, 100 for steps, 1e or 0.5e for epochs"));
  }

  EXPECT_EQ(
      refusal({"--schedule", "constant", "--end-lr", "0"}),
      "2: --end-lr has no effect with --schedule constant | leave it out, or choose --schedule "
      "linear, cosine, polynomial or cyclic");
  EXPECT_EQ(refusal({"--schedule", "cyclic"}),
            "2: --schedule cyclic needs --cycle | the number of steps in which the rate falls and "
            "rises again");
  EXPECT_EQ(refusal({"--schedule", "polynomial", "--lr", "0.1,0.001", "--end-lr", "0.01"}),
            "2: --end-lr 0.01 is above --lr 0.001 | the rate falls from --lr to --end-lr");
  EXPECT_EQ(refusal({"--lr", "0.1,,0.2"}),
            "2: --lr: '' is not a number between 1e-12 and 10 | bert_train --help lists all "
            "options");
  EXPECT_EQ(refusal({"--schedule", "polynomial", "--lr", "0.001", "--end-lr", "0.01"}),
            "2: --end-lr 0.01 is above --lr 0.001 | the rate falls from --lr to --end-lr");
  EXPECT_EQ(
      std::get<TrainOptions>(
          parse_command_line({"data.csv", "--schedule", "polynomial", "--end-lr", "1e-5"}).options)
          .end_lr,
      1e-5);
}

TEST(Schedule, DefaultsDependOnTheModel) {
  EXPECT_DOUBLE_EQ(default_learning_rate(128, false), 1e-3);
  EXPECT_DOUBLE_EQ(default_learning_rate(128, true), 1e-4);
  EXPECT_DOUBLE_EQ(default_learning_rate(768, true), 5e-5);
}

TEST(TotalSteps, AreStepsOrEpochs) {
  const RowSampler sampler({.rows = 100, .seed = 1, .ranks = 2, .batch = 5});
  RunSettings options;
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
