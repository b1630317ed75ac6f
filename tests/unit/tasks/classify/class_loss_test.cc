#include "trainer/tasks/classify/class_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace bp::trainer {
namespace {

const std::vector<double> kWeights = {0.5, 2, 1.25};

at::Tensor logits() {
  return at::tensor({0.3, -1.0, 2.0, 1.5, 0.25, -0.75, -2.0, 0.5, 1.0, 0.0, 0.1, 0.2}).view({4, 3});
}
at::Tensor labels() { return at::tensor(std::vector<std::int64_t>{2, 0, 1, 1}); }

double value(const Loss& loss) { return loss.mean.item<double>(); }

TEST(ClassLoss, IsTheMeanCrossEntropyUnlessAskedForMore) {
  const Loss loss = class_loss(logits(), labels(), {}, {});
  EXPECT_NEAR(value(loss), at::cross_entropy_loss(logits(), labels()).item<double>(), 1e-12);
  EXPECT_EQ(loss.weight, 4);
}

// docs/features.md, Models and losses: Label smoothing and focal loss | `--label-smoothing`,
// `--focal-gamma`
TEST(ClassLoss, WeightsAndSmoothsAsTorchDoes) {
  const Loss loss = class_loss(logits(), labels(), {.label_smoothing = 0.2}, kWeights);
  const at::Tensor expected = at::cross_entropy_loss(logits(), labels(), at::tensor(kWeights),
                                                     at::Reduction::Mean, -100, 0.2);
  EXPECT_NEAR(value(loss), expected.item<double>(), 1e-12);
  EXPECT_DOUBLE_EQ(loss.weight, 1.25 + 0.5 + 2 + 2);
}

TEST(ClassLoss, TheFocalLossFollowsItsFormula) {
  const Loss loss = class_loss(logits(), labels(), {.focal_gamma = 2}, {});
  double sum = 0;
  const std::int64_t true_labels[] = {2, 0, 1, 1};
  for (int row = 0; row < 4; ++row) {
    double all = 0;
    for (int k = 0; k < 3; ++k) all += std::exp(logits()[row][k].item<double>());
    const double p = std::exp(logits()[row][true_labels[row]].item<double>()) / all;
    sum += (1 - p) * (1 - p) * -std::log(p);
  }
  EXPECT_NEAR(value(loss), sum / 4, 1e-12);
}

// Ranks that share a batch have its gradient.
TEST(ClassLoss, PartsByTheirWeightsMakeTheWhole) {
  const ClassLossOptions options = {.label_smoothing = 0.1, .focal_gamma = 1.5};
  const Loss whole = class_loss(logits(), labels(), options, kWeights);
  const Loss first =
      class_loss(logits().slice(0, 0, 1), labels().slice(0, 0, 1), options, kWeights);
  const Loss rest = class_loss(logits().slice(0, 1, 4), labels().slice(0, 1, 4), options, kWeights);
  EXPECT_DOUBLE_EQ(first.weight + rest.weight, whole.weight);
  EXPECT_NEAR((value(first) * first.weight + value(rest) * rest.weight) / whole.weight,
              value(whole), 1e-12);
}

}  // namespace
}  // namespace bp::trainer
