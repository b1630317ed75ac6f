// Steps that failed, and that are computed again.
#include "trainer/train/watch/bug_folder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/text.h"
#include "tests/support/run_ranks.h"
#include "tests/support/scratch.h"
#include "tests/unit/tasks/small_model.h"
#include "trainer/tasks/classify/class_config.h"
#include "trainer/tasks/classify/classifier_head.h"
#include "trainer/train/methods/step_loss.h"

namespace bp::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

EncoderSpec failing_config() {
  EncoderSpec config = small_config();
  config.hidden_dropout = 0.2;
  config.head = head_of({.labels = {"a", "b", "c"}});
  return config;
}

Batch labelled_batch() {
  Batch batch = small_batch();
  batch.text_ids = {7, 8};
  batch.arrays = {{.integers = {2, 1}}};
  return batch;
}

class BugFolder : public ::testing::Test {
 protected:
  // Writes step 12 of a run on this number of ranks, each with one batch. Returns its folder.
  std::string keep(int ranks, const Bert& model) const {
    std::string folder;
    bp::test::run_ranks(ranks, [&](Communicator& world) {
      StepBatches batches;
      batches.step = 11;
      batches.micro_batches = {labelled_batch(), Batch()};
      const TrainingStep step{3, 11};
      const std::string written = keep_failed_step(
          world, {folder_.path(), "the loss at step 12 is nan", model, batches, step, 1024, 6});
      if (world.rank() == 0) folder = written;
    });
    return folder;
  }
  // Computes the step again with a model of other weights.
  static Replay again(const std::string& folder) {
    Bert model(failing_config(), make_classifier_head, Precision::fp32, 99);
    return replay(folder, read_failed_step(folder), model, {});
  }

  Scratch folder_;
  Bert model_{failing_config(), make_classifier_head, Precision::fp32, 5};
  // Shares the model's memory.
  [[nodiscard]] at::Tensor parameter(const std::string& name) const {
    for (const auto& [own, values] : model_.parameters()) {
      if (own == name) return values.detach();
    }
    ADD_FAILURE() << "no parameter " << name;
    return {};
  }
};

TEST_F(BugFolder, AFiniteStepHasItsLossesAndTheNormOfTheMeanGradient) {
  const std::string folder = keep(2, model_);
  EXPECT_EQ(folder, folder_.path() + "/bug/step-12");
  const Replay replayed = again(folder);
  EXPECT_EQ(replayed.first, "");
  ASSERT_EQ(replayed.batches.size(), 2U);
  EXPECT_EQ(replayed.batches[1].rank, 1);
  EXPECT_EQ(replayed.batches[1].rows, 2);

  const TrainingStep step{3, 11};
  const Loss loss = step_loss(model_, labelled_batch(), step, {});
  EXPECT_EQ(replayed.batches[0].loss, loss.mean.item<double>()) << "the same dropout";
  loss.mean.backward();
  double squares = 0;
  for (const auto& [name, values] : model_.parameters()) {
    if (values.grad().defined()) squares += values.grad().square().sum().item<double>();
  }
  EXPECT_NEAR(replayed.norm, std::sqrt(squares), 1e-6);
}

TEST_F(BugFolder, AnInfiniteWeightIsNamed) {
  parameter("bert.pooler.dense.weight")[1][2] = INFINITY;
  EXPECT_EQ(again(keep(1, model_)).first, "the weight bert.pooler.dense.weight (1 of 64 values)");
}

TEST_F(BugFolder, TheFirstActivationIsNamedWithItsRankAndBatch) {
  parameter("bert.pooler.dense.weight").fill_(0);
  parameter("bert.pooler.dense.bias").fill_(100);  // its tanh is 1
  parameter("classifier.weight").fill_(3e38);
  EXPECT_THAT(again(keep(2, model_)).first,
              StartsWith("rank 0, batch 0: the activation classifier"));
}

TEST_F(BugFolder, AFolderThatCannotBeWrittenIsOnlyAWarning) {
  std::string written = "?";
  bp::test::run_ranks(1, [&](Communicator& world) {
    StepBatches batches;
    batches.micro_batches = {labelled_batch()};
    const TrainingStep step{3, 11};
    written = keep_failed_step(world, {"/dev/null/run", "it failed", model_, batches, step});
  });
  EXPECT_EQ(written, "");
}

}  // namespace
}  // namespace bp::trainer
