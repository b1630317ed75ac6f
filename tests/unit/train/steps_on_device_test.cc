// Steps of training on a device: their losses, figures and gradients are those of the CPU, whatever
// the options add to the loss; and what examines a step finds the same.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/run_ranks.h"
#include "tests/support/scratch.h"
#include "tests/unit/model/on_device.h"
#include "tests/unit/tasks/small_model.h"
#include "trainer/tasks/classify/class_config.h"
#include "trainer/tasks/classify/classifier_head.h"
#include "trainer/train/forward_blocks.h"
#include "trainer/train/methods/distillation.h"
#include "trainer/train/methods/step_loss.h"
#include "trainer/train/watch/anomaly.h"
#include "trainer/train/watch/bug_folder.h"

namespace bp::trainer {
namespace {

using at::Tensor;

const TrainingStep kDeviceStep{3, 11};

std::unique_ptr<Bert> model_on(at::Device device, int hidden = 8, std::uint64_t seed = 5) {
  EncoderSpec config = small_config();
  config.hidden = hidden;
  config.hidden_dropout = 0.2;
  config.attention_dropout = 0.1;
  config.initializer_range = 0.3;
  config.head = head_of({.labels = {"a", "b", "c"}, .weights = {1, 2, 0.5}});
  return std::make_unique<Bert>(config, make_classifier_head, Precision::fp32, seed, std::nullopt,
                                device);
}

Batch device_batch() {
  Batch batch = small_batch();
  batch.text_ids = {7, 8};
  batch.arrays = {{.integers = {2, 1}}};
  return batch;
}

class StepsOnDevice : public ::testing::Test {
 protected:
  // Compares a step of two models of the same weights.
  static void expect_same_step(const Bert& here,
                               const Bert& there,
                               const Regularization& regularization,
                               const Distillation* distillation = nullptr,
                               const Distillation* other_distillation = nullptr) {
    const Loss right = step_loss(here, device_batch(), kDeviceStep, regularization, distillation);
    const Loss got =
        step_loss(there, device_batch(), kDeviceStep, regularization, other_distillation);
    EXPECT_EQ(got.weight, right.weight);
    expect_near(got.mean.detach(), right.mean.detach());
    const std::vector<Figure> figures = read_figures(got.figures);
    const std::vector<Figure> expected = read_figures(right.figures);
    ASSERT_EQ(figures.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(figures[i].sum, expected[i].sum, 1e-4) << expected[i].name;
      EXPECT_EQ(figures[i].weight, expected[i].weight);
    }
    right.mean.backward();
    got.mean.backward();
    for (std::size_t i = 0; i < here.parameters().size(); ++i) {
      const auto& [name, parameter] = here.parameters()[i];
      const Tensor gradient = there.parameters()[i].second.grad();
      EXPECT_FALSE(gradient.is_cpu());
      EXPECT_TRUE(at::allclose(gradient.cpu(), parameter.grad(), 1e-3, 2e-5)) << name;
    }
  }
};

// docs/features.md, Launching: Training, evaluation and prediction on a GPU | `--device`
TEST_F(StepsOnDevice, OfTheTask) {
  expect_same_step(*model_on(at::kCPU), *model_on(bp::test::torch_device()), {});
}

// docs/acceptance.md, Devices: Every optimizer and every extra loss makes the same steps on a
// device.
TEST_F(StepsOnDevice, WithRDrop) {
  expect_same_step(*model_on(at::kCPU), *model_on(bp::test::torch_device()), {.r_drop = 2});
}

TEST_F(StepsOnDevice, WithVirtualAdversarialTraining) {
  expect_same_step(*model_on(at::kCPU), *model_on(bp::test::torch_device()), {.vat = 0.5});
}

TEST_F(StepsOnDevice, WithATeacher) {
  const DistillOptions options{.teacher = "teacher", .temperature = 3, .weight = 0.7};
  for (const double hidden : {0.0, 0.4}) {
    DistillOptions own = options;
    own.hidden = hidden;
    const auto device = bp::test::torch_device();
    const auto here = model_on(at::kCPU);
    const auto there = model_on(device);
    const Distillation distillation(model_on(at::kCPU, 12, 9), own, *here);
    const Distillation other(model_on(device, 12, 9), own, *there);
    expect_same_step(*here, *there, {}, &distillation, &other);
  }
}

TEST_F(StepsOnDevice, BlocksHaveTheSameOutputs) {
  std::vector<Batch> blocks(3, device_batch());
  blocks[1].token_ids = {8, 7, 6, 5, 4, 0};
  const auto right = forward_blocks(*model_on(at::kCPU), blocks);
  const auto got = forward_blocks(*model_on(bp::test::torch_device()), blocks);
  ASSERT_EQ(got.size(), right.size());
  for (std::size_t i = 0; i < right.size(); ++i) {
    EXPECT_TRUE(got[i].is_cpu());
    EXPECT_TRUE(at::allclose(got[i], right[i], 1e-4, 1e-5));
  }
}

// A step that failed on a device is computed again on either.
class BugFolderOnDevice : public StepsOnDevice {
 protected:
  [[nodiscard]] std::string keep(const Bert& model) const {
    std::string folder;
    bp::test::run_ranks(1, [&](Communicator& world) {
      StepBatches batches;
      batches.step = 11;
      batches.micro_batches = {device_batch()};
      folder = keep_failed_step(world, {folder_.path(), "it failed", model, batches, kDeviceStep});
    });
    return folder;
  }
  static Replay again(const std::string& folder, at::Device device) {
    const auto model = model_on(device, 8, 99);
    return replay(folder, read_failed_step(folder), *model, {});
  }

  Scratch folder_;
};

TEST_F(BugFolderOnDevice, ReplaysAStep) {
  const std::string folder = keep(*model_on(bp::test::torch_device()));
  const Replay right = again(folder, at::kCPU);
  const Replay got = again(folder, bp::test::torch_device());
  EXPECT_EQ(got.first, "");
  ASSERT_EQ(got.batches.size(), 1U);
  EXPECT_NEAR(got.batches[0].loss, right.batches[0].loss, 1e-5);
  EXPECT_NEAR(got.norm, right.norm, 1e-4);
}

TEST_F(BugFolderOnDevice, NamesAnInfiniteWeight) {
  const auto model = model_on(bp::test::torch_device());
  for (const auto& [name, parameter] : model->parameters()) {
    if (name == "bert.pooler.dense.weight") parameter.detach()[1][2] = INFINITY;
  }
  EXPECT_EQ(again(keep(*model), bp::test::torch_device()).first,
            "the weight bert.pooler.dense.weight (1 of 64 values)");
}

TEST_F(BugFolderOnDevice, AnomalyModeNamesAnActivation) {
  const auto model = model_on(bp::test::torch_device());
  model->parameters().back().second.detach().fill_(INFINITY);  // the classifier's bias
  TrainingStep step = kDeviceStep;
  const AnomalyWatch watch(true);
  watch.observe(step);
  (void)step_loss(*model, device_batch(), step, {});
  EXPECT_EQ(watch.first(), "the activation classifier");
}

}  // namespace
}  // namespace bp::trainer
