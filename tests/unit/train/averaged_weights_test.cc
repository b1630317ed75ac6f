// The moving average of the weights: its formula, and a run that has one.
// docs/acceptance.md, Training: Averaged weights follow their formula, and are evaluated, saved and
// resumed.
#include "trainer/train/methods/averaged_weights.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <optional>

#include "train_fixture.h"
#include "trainer/tasks/classify/classifier_head.h"

namespace bp::trainer {
namespace {

class AveragedWeightsTest : public test::SmallData {
 protected:
  void SetUp() override {
    SmallData::SetUp();
    store_.emplace(SampleStore::open(store_path()));
    model_.emplace(config(*store_, 0), make_classifier_head, Precision::fp32, 1);
  }
  // Sets every weight to `value`.
  void set(double value) {
    const at::NoGradGuard no_grad;
    for (const auto& [name, weight] : model_->parameters()) weight.detach().fill_(value);
  }
  std::optional<SampleStore> store_;
  std::optional<Bert> model_;
};

TEST_F(AveragedWeightsTest, FollowsItsFormula) {
  set(1);
  AveragedWeights averages(*model_, 0.25);
  double expected = 1;
  for (int t = 1; t <= 6; ++t) {
    set(1 + t * t);
    averages.update(*model_);
    const double kept = std::min(0.25, (1.0 + t) / (10.0 + t));
    expected = kept * expected + (1 - kept) * (1 + t * t);
    for (const at::Tensor& average : averages.averages()) {
      EXPECT_NEAR(average.flatten()[0].item<double>(), expected, 1e-5) << t;
      EXPECT_TRUE(average.eq(average.flatten()[0]).all().item<bool>());
    }
  }
  EXPECT_EQ(averages.updates(), 6);
}

TEST_F(AveragedWeightsTest, WithoutADecayAreTheMean) {
  set(100);  // the first weights do not count
  AveragedWeights averages(*model_, 0);
  for (const double value : {1.0, 2.0, 6.0}) {
    set(value);
    averages.update(*model_);
  }
  for (const at::Tensor& average : averages.averages()) {
    EXPECT_NEAR(average.flatten()[0].item<double>(), 3, 1e-6);
  }
}

TEST_F(AveragedWeightsTest, AreTheWeightsOfTheModelWhileTheyAreExchanged) {
  set(1);
  AveragedWeights averages(*model_, 0.5);
  set(3);
  averages.update(*model_);
  const at::Tensor weight = model_->parameters()[0].second;
  const auto first = [](const at::Tensor& tensor) { return tensor.flatten()[0].item<float>(); };
  const float average = first(averages.averages()[0]);
  EXPECT_GT(average, 1);
  EXPECT_LT(average, 3);
  {
    const WithAverages with(&averages, *model_);
    EXPECT_EQ(first(weight), average);
    EXPECT_EQ(first(averages.averages()[0]), 3);
  }
  EXPECT_EQ(first(weight), 3);
  EXPECT_EQ(first(averages.averages()[0]), average);
  const WithAverages none(nullptr, *model_);
  EXPECT_EQ(first(weight), 3);
}

}  // namespace
}  // namespace bp::trainer
