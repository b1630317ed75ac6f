// Steps whose gradient overflows on an f16 wire: no rank makes an update, every count has them, and
// a run of only such steps ends.
// docs/acceptance.md, Precision: A gradient that overflows on an f16 wire skips its step.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/support/run_ranks.h"
#include "train_fixture.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/model/files/safetensors.h"
#include "trainer/optim/optimizer.h"
#include "trainer/report/metrics.h"
#include "trainer/tasks/classify/classifier_head.h"
#include "trainer/train/loop/loop.h"

namespace bp::trainer {
namespace {

// Multiplying the classifier's weights by this gives a loss of about 1e10 and gradients beyond
// 65,504. It is a power of two, so that multiplying and dividing changes no mantissa bits.
constexpr double kHuge = 0x1p40;

class SkippedStep : public test::SmallData {
 protected:
  struct Part {
    std::string run;
    std::int64_t from = 0;  // the step of a checkpoint, or 0 to start from the beginning
    std::int64_t first_bad = 0;
    std::int64_t last_bad = 0;  // the gradients of first_bad to last_bad overflow
    DataType wire = DataType::f16;
  };
  struct Result {
    std::vector<std::vector<at::Tensor>> after;  // rank 0's parameters after each step
    TrainResult train;
  };

  static RunSettings options() {
    RunSettings options = test::SmallData::options();
    options.steps = 12;
    options.eval_every = {every_steps(1)};
    options.save_every = {every_steps(1)};
    options.keep_best = 1;
    options.warmup = 0.3;
    return options;
  }

  static std::vector<at::Tensor> copies(const Bert& model) {
    std::vector<at::Tensor> all;
    for (const auto& [name, parameter] : model.parameters()) {
      all.push_back(parameter.detach().clone());
    }
    return all;
  }

  static void scale(Bert& model, const std::string& suffix, double factor) {
    const at::NoGradGuard no_grad;
    for (const auto& [name, parameter] : model.parameters()) {
      if (name.ends_with(suffix)) at::Tensor(parameter).mul_(factor);
    }
    model.parameters_changed();
  }

  // Makes the weights huge before the first bad step and undoes that after the last one. It does so
  // in the evaluations, which follow each step, because only there a test can reach the weights.
  Result train_part(const Part& part) {
    RunSettings options = SkippedStep::options();
    options.wire = part.wire;
    options.run = path(part.run);
    Result result;
    std::mutex mutex;
    std::filesystem::create_directories(path(part.run));
    bp::test::run_ranks(2, [&](Communicator& world) {
      const SampleStore store = SampleStore::open(store_path());
      Bert model(config(store, 0.1), make_classifier_head, Precision::fp32, 1);
      TrainJob job;
      job.store = store_path();
      job.rows = store.size(Split::train);
      job.lr = options.lr;
      const std::string folder = path(part.run + "/checkpoints");
      const std::string from = concat(folder, "/step-", part.from);
      if (part.from > 0) job.start = parse_state(read(from + "/state.json"));
      std::int64_t step = part.from;
      job.evaluate = [&]() -> DevScores {
        ++step;
        {
          const std::lock_guard lock(mutex);
          if (world.rank() == 0) result.after.push_back(copies(model));
        }
        if (step == part.last_bad) scale(model, "classifier.weight", 1 / kHuge);
        if (step + 1 == part.first_bad) scale(model, "classifier.weight", kHuge);
        return DevScores{};
      };
      std::optional<Checkpoints> checkpoints;
      if (world.rank() == 0) {
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
      const TrainResult trained = train(world, options, job, model);
      if (world.rank() == 0) result.train = trained;
    });
    return result;
  }

  static std::string read(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // The number of updates that AdamW has counted itself.
  static std::int64_t updates_in(const std::string& checkpoint) {
    SafetensorsReader reader(checkpoint + "/optimizer.safetensors");
    for (const SafetensorsEntry& entry : reader.header().entries) {
      if (entry.name != "step.classifier.bias") continue;
      std::int64_t updates = 0;
      reader.read(entry, &updates);
      return updates;
    }
    return -1;
  }
};

// docs/features.md, Optimization: The schedule after a skipped step | The step counts as one of the
// plan.
TEST_F(SkippedStep, MakesNoUpdateAndIsCounted) {
  const Result result = train_part({.run = "run", .first_bad = 5, .last_bad = 6});
  ASSERT_EQ(result.after.size(), 12U);
  const auto equal = [](const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!a[i].equal(b[i])) return false;
    }
    return true;
  };
  EXPECT_TRUE(equal(result.after[4], result.after[5]))
      << "step 6 must not change the weights that step 5 left";
  EXPECT_FALSE(equal(result.after[6], result.after[7]));
  EXPECT_EQ(result.train.end.step, 12);
  EXPECT_EQ(result.train.end.totals.skipped, 2);
  EXPECT_EQ(result.train.summary.skipped, 2);
  EXPECT_EQ(result.train.end.totals.samples, 7 * 16 + 8 + 4 * 16)
      << "the rows of skipped steps count as used";
  EXPECT_EQ(updates_in(path("run/checkpoints/step-4")), 4);
  EXPECT_EQ(updates_in(path("run/checkpoints/step-6")), 4);
  EXPECT_EQ(updates_in(path("run/checkpoints/step-12")), 10);

  const Metrics metrics = read_metrics(path("run/metrics.jsonl"));
  ASSERT_EQ(metrics.steps.size(), 12U);
  for (std::size_t i = 0; i < 12; ++i) {
    const bool bad = i == 4 || i == 5;
    EXPECT_EQ(metrics.steps[i].skipped, bad ? 1 : 0) << i;
    EXPECT_EQ(std::isfinite(metrics.steps[i].grad_norm), !bad) << i;
    EXPECT_TRUE(std::isfinite(metrics.steps[i].loss)) << i;
  }
}

TEST_F(SkippedStep, ARunResumesBitForBitBeforeAndAfterIt) {
  const Part whole_run{.run = "whole", .first_bad = 5, .last_bad = 7};
  const Result whole = train_part(whole_run);
  for (const std::int64_t from : {4, 5, 6, 8}) {
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
    const Result resumed = train_part(part);
    EXPECT_EQ(resumed.train.end.totals.skipped, 3);
    const auto& a = whole.after.back();
    const auto& b = resumed.after.back();
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i].equal(b[i])) << i;
    EXPECT_EQ(updates_in(path(part.run + "/checkpoints/step-12")), 9);
  }
  const CheckpointState amid = parse_state(read(path("whole/checkpoints/step-6/state.json")));
  EXPECT_EQ(amid.skipped_in_a_row, 2);
  EXPECT_EQ(parse_state(read(path("whole/checkpoints/step-8/state.json"))).skipped_in_a_row, 0);
}

std::string end_of_both_ranks(const std::function<void(Communicator&)>& body) {
  const auto errors = bp::test::try_agreeing_ranks(2, body);
  EXPECT_EQ(errors[0], errors[1]);
  return errors[0];
}

TEST_F(SkippedStep, TwentyInARowEndTheRunWithTheirSamples) {
  RunSettings options = SkippedStep::options();
  options.steps = 100;
  options.wire = DataType::f16;
  options.run = path("run");
  options.eval_every = {every_steps(1000)};
  options.save_every = {every_steps(1000)};
  const std::string error = end_of_both_ranks([&](Communicator& world) {
    const SampleStore store = SampleStore::open(store_path());
    Bert model(config(store, 0), make_classifier_head, Precision::fp32, 1);
    scale(model, "classifier.weight", kHuge);
    TrainJob job;
    job.store = store_path();
    job.rows = store.size(Split::train);
    job.lr = options.lr;
    job.evaluate = [] { return DevScores{}; };
    if (world.rank() == 0) job.metrics = path("metrics.jsonl");
    (void)train(world, options, job, model);
  });
  EXPECT_THAT(error, ::testing::StartsWith("the norm of the gradient at step 20 is "));
  EXPECT_THAT(error, ::testing::HasSubstr(", as in the 19 steps before it"));
  EXPECT_THAT(error, ::testing::EndsWith(path("run/bug/step-20.json")));
  EXPECT_EQ(read_metrics(path("metrics.jsonl")).steps.size(), 19U);
}

TEST_F(SkippedStep, IsAnErrorOnAWireThatDoesNotRound) {
  RunSettings options = SkippedStep::options();
  const std::string error = end_of_both_ranks([&](Communicator& world) {
    const SampleStore store = SampleStore::open(store_path());
    Bert model(config(store, 0), make_classifier_head, Precision::fp32, 1);
    // The loss is finite. The first layer norm multiplies the gradient by a million, because its
    // input has almost no variance.
    scale(model, "classifier.weight", 0x1p120);
    scale(model, "_embeddings.weight", 0x1p-60);
    TrainJob job;
    job.store = store_path();
    job.rows = store.size(Split::train);
    job.lr = options.lr;
    job.evaluate = [] { return DevScores{}; };
    (void)train(world, options, job, model);
  });
  EXPECT_THAT(error, ::testing::StartsWith("the norm of the gradient at step 1 is "));
}

}  // namespace
}  // namespace bp::trainer
