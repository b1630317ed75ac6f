// What a training step minimises, with and without regularization.
#include "trainer/train/methods/step_loss.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/tasks/small_model.h"
#include "trainer/model/noise.h"
#include "trainer/tasks/classify/class_config.h"
#include "trainer/tasks/classify/classifier_head.h"

namespace bp::trainer {
namespace {

const std::vector<double> kWeights = {0.5, 2, 1.25};
const TrainingStep kStep{3, 11};

// Three labels, and weights as large as those of a trained model.
EncoderSpec config_with(double dropout) {
  EncoderSpec config = small_config();
  config.hidden_dropout = dropout;
  config.attention_dropout = dropout;
  config.initializer_range = 0.4;
  config.head = head_of({.labels = {"a", "b", "c"}, .weights = kWeights});
  return config;
}

class StepLoss : public ::testing::Test {
 protected:
  explicit StepLoss(double dropout = 0.2)
      : model_(config_with(dropout), make_classifier_head, Precision::fp32, 5) {}

  static Batch batch() {
    Batch batch = small_batch();
    batch.arrays = {{.integers = {2, 1}}};
    return batch;
  }
  // Returns one of its samples.
  static Batch sample(int row) {
    const Batch all = batch();
    const auto r = static_cast<std::size_t>(row);
    Batch one;
    one.rows = 1;
    one.length = all.lengths[r];
    const auto begin = all.token_ids.begin() + row * all.length;
    one.token_ids.assign(begin, begin + one.length);
    one.lengths = {all.lengths[r]};
    one.sample_ids = {all.sample_ids[r]};
    one.arrays = {{.integers = {all.arrays[0].integers[r]}}};
    return one;
  }

  // Returns the predicted probabilities of a pass.
  [[nodiscard]] std::vector<std::vector<double>> probabilities(std::uint32_t draw) const {
    TrainingStep step = kStep;
    step.draw = draw;
    const at::Tensor logits = model_.forward(batch(), &step).to(at::kDouble);
    std::vector<std::vector<double>> result;
    for (int row = 0; row < 2; ++row) {
      double sum = 0;
      std::vector<double> p;
      for (int k = 0; k < 3; ++k) {
        p.push_back(std::exp(logits[row][k].item<double>()));
        sum += p.back();
      }
      for (double& one : p) one /= sum;
      result.push_back(p);
    }
    return result;
  }

  [[nodiscard]] double loss_of(const Regularization& regularization) const {
    return step_loss(model_, batch(), kStep, regularization).mean.item<double>();
  }

  Bert model_;
};

class StepLossWithoutDropout : public StepLoss {
 protected:
  StepLossWithoutDropout() : StepLoss(0) {}
};

double kl(const std::vector<double>& p, const std::vector<double>& q) {
  double sum = 0;
  for (std::size_t k = 0; k < p.size(); ++k) sum += p[k] * std::log(p[k] / q[k]);
  return sum;
}

TEST_F(StepLoss, IsTheHeadsLossWithoutRegularization) {
  const double plain = model_.loss(model_.forward(batch(), &kStep), batch()).mean.item<double>();
  EXPECT_EQ(loss_of({}), plain);
  EXPECT_EQ(step_loss(model_, batch(), kStep, {}).weight, 1.25 + 2);
}

// docs/acceptance.md, Training: R-Drop follows its formula.
// docs/features.md, Models and losses: VAT and R-Drop | `--vat`, `--r-drop`
TEST_F(StepLoss, RDropFollowsItsFormula) {
  const auto p1 = probabilities(0);
  const auto p2 = probabilities(1);
  EXPECT_GT(std::abs(p1[0][0] - p2[0][0]), 1e-3);  // other masks
  const double alpha = 3;
  double right = 0;
  const int labels[] = {2, 1};
  const double weights[] = {1.25, 2};
  for (std::size_t row = 0; row < 2; ++row) {
    const auto label = static_cast<std::size_t>(labels[row]);
    const double losses = -std::log(p1[row][label]) - std::log(p2[row][label]);
    const double agreement = kl(p1[row], p2[row]) + kl(p2[row], p1[row]);
    right += weights[row] / 3.25 * (losses / 2 + alpha / 4 * agreement);
  }
  EXPECT_NEAR(loss_of({.r_drop = alpha}), right, 1e-6);
}

TEST_F(StepLossWithoutDropout, RDropIsThePlainLoss) {
  EXPECT_NEAR(loss_of({.r_drop = 3}), loss_of({}), 1e-7);
}

// Ranks that share a batch have its gradient.
TEST_F(StepLoss, PartsByTheirWeightsMakeTheWhole) {
  const Regularization both{.r_drop = 2, .vat = 0.5};
  const auto gradients_after = [&](const std::vector<Batch>& batches) {
    std::vector<at::Tensor> gradients;
    for (const Batch& one : batches) {
      const Loss loss = step_loss(model_, one, kStep, both);
      (loss.mean * (loss.weight / 3.25)).backward();
    }
    for (const auto& [name, parameter] : model_.parameters()) {
      gradients.push_back(parameter.grad().clone());
      parameter.mutable_grad().reset();
    }
    return gradients;
  };
  const auto whole = gradients_after({batch()});
  const auto parts = gradients_after({sample(0), sample(1)});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_LE((whole[i] - parts[i]).abs().max().item<float>(), 5e-6)
        << model_.parameters()[i].first;
  }
}

TEST_F(StepLoss, VatAddsToTheLossAlsoWhereNoGradientIsComputed) {
  const c10::NoGradGuard no_grad;
  const double plain = loss_of({});
  const double once = loss_of({.vat = 1}) - plain;
  EXPECT_GT(once, 1e-3);
  EXPECT_NEAR(loss_of({.vat = 3}) - plain, 3 * once, 1e-6);
}

// Returns the sum of a figure that the loss must have.
double sum_of(const Loss& loss, const std::string& name) {
  const std::vector<Figure> figures = read_figures(loss.figures);
  return std::ranges::find(figures, name, &Figure::name)->sum;
}

// docs/features.md, Evaluation and reports: Figures that a user's step reports | `losses()` of a
// task; metrics, summary, TensorBoard and the report show them
TEST_F(StepLoss, ReportsThePartsOfItsLoss) {
  EXPECT_TRUE(step_loss(model_, batch(), kStep, {}).figures.empty());
  const Regularization both{.r_drop = 2, .vat = 0.5};
  const Loss loss = step_loss(model_, batch(), kStep, both);
  std::vector<std::string> names;
  for (const LossFigure& figure : loss.figures) {
    EXPECT_EQ(figure.weight, loss.weight);
    names.push_back(figure.name);
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAreArray(step_figures(model_, both, nullptr)));
  const auto mean = [&](const char* name) { return sum_of(loss, name) / loss.weight; };
  EXPECT_GT(mean("r_drop_loss"), 1e-3);
  EXPECT_GT(mean("vat_loss"), 1e-3);
  EXPECT_NEAR(
      mean("task_loss") + both.r_drop / 4 * mean("r_drop_loss") + both.vat * mean("vat_loss"),
      loss.mean.item<double>(), 1e-6);
}

TEST(Noise, IsNormalAndBelongsToTheSample) {
  const Layout layout = make_layout({200, 300}, {7, 8});
  const at::Tensor noise = normal_noise(layout, 100, kStep);
  const at::Tensor all = noise.slice(0, 0, 500);
  EXPECT_NEAR(all.mean().item<double>(), 0, 0.02);
  EXPECT_NEAR(all.square().mean().item<double>(), 1, 0.03);
  EXPECT_NEAR(all.pow(4).mean().item<double>(), 3, 0.15);
  EXPECT_EQ(noise.slice(0, 500).abs().sum().item<double>(), 0);
  EXPECT_TRUE(at::equal(normal_noise(make_layout({300}, {8}), 100, kStep).slice(0, 0, 300),
                        all.slice(0, 200)));
  EXPECT_FALSE(at::equal(normal_noise(layout, 100, {3, 12}), noise));
}

}  // namespace
}  // namespace bp::trainer
