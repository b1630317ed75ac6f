// docs/acceptance.md, Tasks: Losses for several labels follow their formulas.
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "trainer/tasks/classify/class_loss.h"

namespace bp::trainer {
namespace {

constexpr int kRows = 4;
constexpr int kLabels = 3;
const std::vector<double> kYesWeights = {0.5, 2, 1.25};

at::Tensor answer_logits() {
  return at::tensor({0.3, -1.0, 2.0, 1.5, 0.25, -0.75, -2.0, 0.5, 1.0, 0.0, 0.1, 0.2})
      .view({kRows, kLabels});
}
at::Tensor answers() {
  return at::tensor({1., 0., 1., 0., 0., 0., 1., 1., 1., 0., 1., 0.}).view({kRows, kLabels});
}

double mean_loss(const Loss& loss) { return loss.mean.item<double>(); }

// Returns the mean over the samples and labels of term(p, answer, label), p being the probability
// of yes.
double mean_of(const std::function<double(double p, double answer, std::size_t label)>& term) {
  double sum = 0;
  for (int row = 0; row < kRows; ++row) {
    for (int label = 0; label < kLabels; ++label) {
      const double p = 1 / (1 + std::exp(-answer_logits()[row][label].item<double>()));
      sum += term(p, answers()[row][label].item<double>(), static_cast<std::size_t>(label));
    }
  }
  return sum / (kRows * kLabels);
}

TEST(MultiLabelLoss, IsTheMeanBinaryCrossEntropyUnlessAskedForMore) {
  const Loss loss = multi_label_loss(answer_logits(), answers(), {}, {});
  EXPECT_NEAR(mean_loss(loss), mean_of([](double p, double answer, std::size_t) {
                return answer == 1 ? -std::log(p) : -std::log(1 - p);
              }),
              1e-12);
  EXPECT_EQ(loss.weight, kRows);
}

TEST(MultiLabelLoss, WeighsTheAnswerYesAndSmoothsBoth) {
  const Loss loss =
      multi_label_loss(answer_logits(), answers(), {.label_smoothing = 0.2}, kYesWeights);
  EXPECT_NEAR(mean_loss(loss), mean_of([](double p, double answer, std::size_t label) {
                const double yes = answer == 1 ? 0.9 : 0.1;
                return -kYesWeights[label] * yes * std::log(p) - (1 - yes) * std::log(1 - p);
              }),
              1e-12);
}

TEST(MultiLabelLoss, TheFocalLossFollowsItsFormula) {
  const Loss loss = multi_label_loss(answer_logits(), answers(), {.focal_gamma = 2}, {});
  EXPECT_NEAR(mean_loss(loss), mean_of([](double p, double answer, std::size_t) {
                const double right = answer == 1 ? p : 1 - p;
                return -(1 - right) * (1 - right) * std::log(right);
              }),
              1e-12);
}

// Ranks that share a batch have its gradient.
TEST(MultiLabelLoss, PartsByTheirWeightsMakeTheWhole) {
  const ClassLossOptions options = {.label_smoothing = 0.1, .focal_gamma = 1.5};
  const auto loss = [&](int begin, int end) {
    return multi_label_loss(answer_logits().slice(0, begin, end), answers().slice(0, begin, end),
                            options, kYesWeights);
  };
  const Loss whole = loss(0, kRows);
  const Loss first = loss(0, 1);
  const Loss rest = loss(1, kRows);
  EXPECT_NEAR((mean_loss(first) * first.weight + mean_loss(rest) * rest.weight) / whole.weight,
              mean_loss(whole), 1e-12);
}

TEST(MultiLabelDivergence, FollowsItsFormula) {
  const at::Tensor others = answer_logits() * 0.5 - 0.25;
  const Loss divergence = multi_label_divergence(answer_logits(), others);
  double sum = 0;
  for (int row = 0; row < kRows; ++row) {
    for (int label = 0; label < kLabels; ++label) {
      const double p = 1 / (1 + std::exp(-answer_logits()[row][label].item<double>()));
      const double q = 1 / (1 + std::exp(-others[row][label].item<double>()));
      sum += p * std::log(p / q) + (1 - p) * std::log((1 - p) / (1 - q));
    }
  }
  EXPECT_NEAR(mean_loss(divergence), sum / (kRows * kLabels), 1e-12);
  EXPECT_EQ(divergence.weight, kRows);
  EXPECT_NEAR(mean_loss(multi_label_divergence(answer_logits(), answer_logits())), 0, 1e-15);
}

TEST(MultiLabelDivergence, IsFiniteForTheSurestAnswers) {
  const at::Tensor sure = at::tensor({90.f, -90.f, 200.f}).view({1, 3}).requires_grad_(true);
  const Loss divergence = multi_label_divergence(sure, -sure);
  EXPECT_NEAR(mean_loss(divergence), (90 + 90 + 200) / 3.0 * 1, 1);
  const at::Tensor gradient = torch::autograd::grad({divergence.mean}, {sure})[0];
  EXPECT_TRUE(gradient.isfinite().all().item<bool>());
}

}  // namespace
}  // namespace bp::trainer
