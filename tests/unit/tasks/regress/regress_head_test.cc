// The head that gives each sample a number.
#include "trainer/tasks/regress/regress_head.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/tasks/golden_head.h"
#include "tests/unit/tasks/small_model.h"
#include "trainer/tasks/regress/target_scale.h"

namespace bp::trainer {
namespace {

class GoldenRegress : public ::testing::TestWithParam<int> {
 protected:
  GoldenHead golden_{"regress_" + std::to_string(GetParam()), [](const auto& golden, int step) {
                       const at::Tensor own = golden.rows("targets", step).to(at::kDouble);
                       const auto* values = own.const_data_ptr<double>();
                       return std::vector<BatchArray>{{.reals = {values, values + own.numel()}}};
                     }};
};

// docs/acceptance.md, Tasks: Heads for tags, for numbers and for several labels compute what
// transformers computes: logits, loss and every gradient, and 20 steps of AdamW to 1e-4.
TEST_P(GoldenRegress, NumbersAndGradientsEqualTransformers) {
  golden_.expect_first_step(*golden_.model(make_regress_head), GoldenHead::kRows);
}

TEST_P(GoldenRegress, TwentyStepsEqualTransformers) {
  golden_.expect_training(*golden_.model(make_regress_head));
}

INSTANTIATE_TEST_SUITE_P(Configurations, GoldenRegress, ::testing::Values(0, 1));

TEST(RegressHead, ComparesNumbersAsMeansOfNormalDistributions) {
  const Bert model(small_config(), make_regress_head, Precision::fp32, 1);
  const Loss loss = model.divergence(at::tensor({1.5, -2.0}).view({2, 1}),
                                     at::tensor({0.5, 1.0}).view({2, 1}), small_batch());
  EXPECT_EQ(loss.weight, 2);
  EXPECT_EQ(loss.mean.item<double>(), (1.0 + 9.0) / 2 / 2);
}

TEST(RegressHead, LearnsStandardisedTargets) {
  EncoderSpec config = small_config();
  config.head = keys_of(TargetScale{.mean = 2000, .deviation = 500});
  const Bert model(config, make_regress_head, Precision::fp32, 1);
  Batch batch = small_batch();
  batch.arrays = {{.reals = {1000, 3000}}};
  const Loss loss = model.loss(at::tensor({1.0F, -2.0F}).view({2, 1}), batch);
  EXPECT_EQ(loss.mean.item<double>(), (3.0 * 3.0 + 4.0 * 4.0) / 2) << "they are -2 and 2";
}

TEST(RegressHead, ItsDropoutIsItsOwn) {
  EncoderSpec config = small_config();
  const Batch batch = small_batch();
  const TrainingStep step{1, 1};
  config.head = {{"classifier_dropout", "0.5"}};
  const Bert half(config, make_regress_head, Precision::fp32, 1);
  const at::Tensor without = half.forward(batch, nullptr);
  EXPECT_EQ(without.sizes().vec(), (std::vector<std::int64_t>{2, 1}));
  EXPECT_FALSE(at::allclose(half.forward(batch, &step), without, 1e-3, 1e-3));
  config.head = {};
  const Bert none(config, make_regress_head, Precision::fp32, 1);
  EXPECT_TRUE(at::allclose(none.forward(batch, &step), without, 1e-5, 1e-6));
}

}  // namespace
}  // namespace bp::trainer
