// Loss scaling in training: overflows lower the factor on all ranks, a run continues with the
// factor of its checkpoint, and it ends if no factor helps.
// docs/acceptance.md, Precision: A loss scale that is too large falls until the gradient fits, also
// if one rank alone overflows.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "base/text.h"
#include "tests/support/run_ranks.h"
#include "train_fixture.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/optim/optimizer.h"
#include "trainer/report/metrics.h"
#include "trainer/tasks/classify/classifier_head.h"
#include "trainer/train/loop/loop.h"

namespace bp::trainer {
namespace {

using Tensors = std::vector<at::Tensor>;

// The classifier, whose loss is multiplied by `factor` in chosen training steps.
class LoudHead : public Head {
 public:
  LoudHead(std::unique_ptr<Head> head, std::set<int> loud, double factor)
      : head_(std::move(head)), loud_(std::move(loud)), factor_(factor) {}

  [[nodiscard]] States reads() const override { return head_->reads(); }
  [[nodiscard]] at::Tensor forward(const Encoder& encoder,
                                   const Pass& pass,
                                   const at::Tensor& states,
                                   const Batch& batch) const override {
    step_ = static_cast<int>(pass.step->number) + 1;
    return head_->forward(encoder, pass, states, batch);
  }
  [[nodiscard]] Loss loss(const at::Tensor& outputs, const Batch& batch) const override {
    Loss loss = head_->loss(outputs, batch);
    if (loud_.contains(step_)) loss.mean = loss.mean * factor_;
    return loss;
  }

 private:
  std::unique_ptr<Head> head_;
  std::set<int> loud_;  // steps
  double factor_;
  mutable int step_ = 0;
};

class LossScalingInTraining : public test::SmallData {
 protected:
  struct Part {
    std::string run = "run";
    std::int64_t from = 0;  // the step of a checkpoint, or 0 to start from the beginning
    std::set<int> loud_on_rank_1 = {};  // steps in which rank 1's loss is multiplied
    double factor = 0x1p120;  // by this; the loss stays finite, its scaled gradient does not
  };
  struct Result {
    std::array<Tensors, 2> parameters;  // of each rank
    std::array<TrainResult, 2> train;
    std::string error;  // of both ranks
  };

  static RunSettings options() {
    RunSettings options = test::SmallData::options();
    options.steps = 12;
    options.save_every = {every_steps(1)};
    options.warmup = 0.3;
    options.loss_scale = 65536;
    return options;
  }

  Result train_part(const Part& part, RunSettings options) {
    options.run = path(part.run);
    std::filesystem::create_directories(options.run);
    Result result;
    const auto errors = bp::test::try_ranks(2, [&](Communicator& world) {
      const auto rank = static_cast<std::size_t>(world.rank());
      const SampleStore store = SampleStore::open(store_path());
      const HeadMaker head = [&](const EncoderSpec& config, Parameters& parameters) {
        return std::make_unique<LoudHead>(make_classifier_head(config, parameters),
                                          rank == 1 ? part.loud_on_rank_1 : std::set<int>{},
                                          part.factor);
      };
      Bert model(config(store, 0.1), head, options.precision, 1);
      TrainJob job;
      job.store = store_path();
      job.rows = store.size(Split::train);
      job.lr = options.lr;
      job.evaluate = [] { return DevScores{}; };
      const std::string folder = path(part.run + "/checkpoints");
      const std::string from = concat(folder, "/step-", part.from);
      if (part.from > 0) job.start = state_of(part.run, part.from);
      std::optional<Checkpoints> checkpoints;
      if (rank == 0) {
        CheckpointsOptions saving{folder, 99};
        saving.moments = moment_names(options);
        if (part.from > 0) {
          job.resumed = from;
          saving.last = part.from;
        }
        checkpoints.emplace(saving, model);
        job.checkpoints = &*checkpoints;
        job.metrics = path(part.run + "/metrics.jsonl");
      }
      result.train[rank] = train(world, options, job, model);
      for (const auto& [name, parameter] : model.parameters()) {
        result.parameters[rank].push_back(parameter.detach().clone());
      }
    });
    EXPECT_EQ(errors[0], errors[1]);
    result.error = errors[0];
    return result;
  }

  [[nodiscard]] CheckpointState state_of(const std::string& run, std::int64_t step) const {
    std::ifstream in(path(concat(run, "/checkpoints/step-", step, "/state.json")));
    return parse_state({std::istreambuf_iterator<char>(in), {}});
  }
  // The loss scale of each step.
  [[nodiscard]] std::vector<double> scales(const std::string& run) const {
    std::vector<double> all;
    for (const StepRecord& step : read_metrics(path(run + "/metrics.jsonl")).steps) {
      all.push_back(step.loss_scale);
    }
    return all;
  }
  static void expect_equal(const Tensors& a, const Tensors& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i].equal(b[i])) << i;
  }
};

TEST_F(LossScalingInTraining, APowerOfTwoChangesNoBits) {
  RunSettings plain = options();
  plain.loss_scale = 0;
  const Result without = train_part({.run = "plain"}, plain);
  const Result with = train_part({.run = "scaled"}, options());
  expect_equal(with.parameters[0], without.parameters[0]);
  EXPECT_EQ(scales("scaled"), std::vector<double>(12, 65536));
  EXPECT_EQ(scales("plain"), std::vector<double>(12, 0));
}

// docs/features.md, Optimization: Mixed precision with accumulated gradients | `--precision`,
// `--accumulate`
TEST_F(LossScalingInTraining, AnOverflowOfOneRankAloneIsSkippedOnAllRanks) {
  const Result result = train_part({.loud_on_rank_1 = {5, 6, 9}}, options());
  EXPECT_EQ(result.error, "");
  expect_equal(result.parameters[0], result.parameters[1]);
  for (const TrainResult& rank : result.train) {
    EXPECT_EQ(rank.end.step, 12);
    EXPECT_EQ(rank.summary.skipped, 3);
  }
  EXPECT_THAT(scales("run"), ::testing::ElementsAre(65536, 65536, 65536, 65536, 65536, 32768, 16384,
                                                    16384, 16384, 8192, 8192, 8192));
  const CheckpointState amid = state_of("run", 6);
  EXPECT_EQ(amid.loss_scale, 16384);
  EXPECT_EQ(amid.good_windows, 0);
  EXPECT_EQ(amid.skipped_in_a_row, 2);
  EXPECT_EQ(state_of("run", 8).good_windows, 2);

  const Result never = train_part({.run = "never"}, options());
  const Metrics skipping = read_metrics(path("run/metrics.jsonl"));
  const Metrics usual = read_metrics(path("never/metrics.jsonl"));
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(skipping.steps[i].lr, usual.steps[i].lr) << "the schedule counts skipped steps";
    EXPECT_EQ(skipping.steps[i].skipped, i == 4 || i == 5 || i == 8 ? 1 : 0) << i;
  }
  EXPECT_EQ(skipping.steps[11].samples, usual.steps[11].samples);
}

TEST_F(LossScalingInTraining, ARunResumesBitForBitAcrossASkippedStep) {
  const Part whole_run{.run = "whole", .loud_on_rank_1 = {5, 6, 9}};
  const Result whole = train_part(whole_run, options());
  for (const std::int64_t from : {4, 5, 6, 7, 9}) {
    SCOPED_TRACE(from);
    Part part = whole_run;
    part.run = concat("from-", from);
    part.from = from;
    std::filesystem::copy(
        path("whole"), path(part.run),
        std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
    for (std::int64_t later = from + 1; later <= 12; ++later) {
      std::filesystem::remove_all(path(concat(part.run, "/checkpoints/step-", later)));
    }
    const Result resumed = train_part(part, options());
    expect_equal(resumed.parameters[0], whole.parameters[0]);
    EXPECT_EQ(scales(part.run), scales("whole"));
    EXPECT_EQ(resumed.train[0].end.totals.skipped, 3);
    const CheckpointState end = state_of(part.run, 12);
    EXPECT_EQ(end.loss_scale, 8192);
    EXPECT_EQ(end.good_windows, 3);
  }
}

// The scale falls from 2^40 until the gradients fit into f16, which takes more than 20 steps.
// docs/features.md, Optimization: bf16, fp16 with loss scaling, or the fastest type of the
// processors or GPUs | `--precision`, `--loss-scale`
TEST_F(LossScalingInTraining, AHugeScaleFallsUntilTheGradientFits) {
  RunSettings huge = options();
  huge.steps = 48;
  huge.save_every = {every_steps(1000)};
  huge.loss_scale = 0x1p40;
  huge.wire = DataType::f16;
  const Result result = train_part({}, huge);
  const std::int64_t skipped = result.train[0].summary.skipped;
  EXPECT_EQ(result.error, "");
  EXPECT_GT(skipped, kMostSkippedInARow);
  EXPECT_LT(skipped, 40);
  const std::vector<StepRecord> steps = read_metrics(path("run/metrics.jsonl")).steps;
  ASSERT_EQ(steps.size(), 48U);
  EXPECT_EQ(steps[0].loss_scale, 0x1p40);
  for (std::size_t i = 1; i < 48; ++i) {
    const double factor = steps[i - 1].skipped == 1 ? 0.5 : 1;
    EXPECT_EQ(steps[i].loss_scale, steps[i - 1].loss_scale * factor) << i;
  }
  EXPECT_LT(result.train[0].summary.loss, 0.69) << "it must have learnt something";
}

// A loss that is NaN in every step: the scale falls to 1 in 16 steps, and 4 more are tried.
TEST_F(LossScalingInTraining, TwentyInARowAtTheScaleOneEndTheRun) {
  RunSettings never = options();
  never.steps = 60;
  std::set<int> all;
  for (int step = 3; step <= 60; ++step) all.insert(step);
  const std::string error =
      train_part({.loud_on_rank_1 = all, .factor = std::nan("")}, never).error;
  EXPECT_THAT(error, ::testing::HasSubstr("the norm of the gradient at step 22 is nan, as in the "
                                          "19 steps before it, at the loss scale 0.125"));
  EXPECT_TRUE(std::filesystem::exists(path("run/bug/step-22.json")));
  const Metrics metrics = read_metrics(path("run/metrics.jsonl"));
  ASSERT_EQ(metrics.steps.size(), 21U);
  EXPECT_EQ(metrics.steps.back().loss_scale, 0.25);
  EXPECT_TRUE(std::isnan(metrics.steps.back().loss));
}

TEST_F(LossScalingInTraining, ALossThatIsNotFiniteEndsARunWithoutIt) {
  RunSettings plain = options();
  plain.loss_scale = 0;
  plain.wire = DataType::f16;
  const std::string error =
      train_part({.loud_on_rank_1 = {3}, .factor = std::nan("")}, plain).error;
  EXPECT_THAT(error, ::testing::HasSubstr("the loss at step 3 is nan"));
}

}  // namespace
}  // namespace bp::trainer
