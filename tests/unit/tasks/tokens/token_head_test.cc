// The head that gives each token a tag.
#include "trainer/tasks/tokens/token_head.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/refusal.h"
#include "tests/unit/tasks/golden_head.h"
#include "tests/unit/tasks/small_model.h"
#include "trainer/tasks/label_config.h"
#include "trainer/tasks/tokens/sentence_windows.h"

namespace bp::trainer {
namespace {

class GoldenTokens : public ::testing::TestWithParam<int> {
 protected:
  GoldenHead golden_{"tokens_" + std::to_string(GetParam()), [](const auto& golden, int step) {
                       return std::vector<BatchArray>{
                           {.integers = vector_of<std::int64_t>(golden.rows("targets", step))}};
                     }};
};

// docs/acceptance.md, Tasks: Heads for tags, for numbers and for several labels compute what
// transformers computes: logits, loss and every gradient, and 20 steps of AdamW to 1e-4.
TEST_P(GoldenTokens, NumbersAndGradientsEqualTransformers) {
  const auto model = golden_.model(make_token_head, "bert.pooler.");
  const std::vector<std::int64_t> targets = vector_of<std::int64_t>(golden_.rows("targets", 0));
  const auto none = std::ranges::count(targets, kIgnoredTarget);
  golden_.expect_first_step(*model, static_cast<double>(std::ssize(targets) - none));
}

TEST_P(GoldenTokens, TwentyStepsEqualTransformers) {
  golden_.expect_training(*golden_.model(make_token_head, "bert.pooler."));
}

// The parts of a batch add up to the batch, by their weights.
TEST_P(GoldenTokens, TheWeightIsTheNumberOfTargets) {
  const auto model = golden_.model(make_token_head, "bert.pooler.");
  const Batch whole = golden_.batch(0);
  const Loss all = model->loss(model->forward(whole, nullptr), whole);
  double sum = 0;
  double weight = 0;
  for (int row = 0; row < whole.rows; ++row) {
    const auto r = static_cast<std::size_t>(row);
    Batch part = whole;
    part.rows = 1;
    part.lengths = {whole.lengths[r]};
    part.sample_ids = {whole.sample_ids[r]};
    part.token_ids = vector_of<std::int64_t>(golden_.expected("ids")[row]);
    part.arrays = {{.integers = vector_of<std::int64_t>(golden_.expected("targets")[row])}};
    const Loss loss = model->loss(model->forward(part, nullptr), part);
    sum += loss.mean.item<double>() * loss.weight;
    weight += loss.weight;
  }
  EXPECT_EQ(weight, all.weight);
  EXPECT_NEAR(sum / weight, all.mean.item<double>(), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Configurations, GoldenTokens, ::testing::Values(0, 1));

EncoderSpec with_tags(double dropout) {
  EncoderSpec config = small_config();
  config.head =
      label_keys({.labels = {"a", "b"}, .dropout = dropout}, config, "ForTokenClassification");
  return config;
}

struct Small {
  explicit Small(std::vector<std::int64_t> targets,
                 double dropout = 0,
                 Precision precision = Precision::fp32)
      : model(with_tags(dropout), make_token_head, precision, 1) {
    batch.arrays = {{.integers = std::move(targets)}};
  }
  Batch batch = small_batch();
  Bert model;
  TrainingStep step{1, 1};
};

constexpr std::int64_t kNone = kIgnoredTarget;

TEST(TokenHead, WithoutTargetsLossGradientsAndWeightAreZero) {
  Small small({kNone, kNone, kNone, kNone, kNone, kNone});
  const Loss loss = small.model.loss(small.model.forward(small.batch, &small.step), small.batch);
  EXPECT_EQ(loss.mean.item<float>(), 0);
  EXPECT_EQ(loss.weight, 0);
  loss.mean.backward();
  for (const auto& [name, parameter] : small.model.parameters()) {
    if (name.starts_with("bert.pooler.")) continue;  // nothing uses it
    ASSERT_TRUE(parameter.grad().defined()) << name;
    EXPECT_EQ(parameter.grad().abs().max().item<float>(), 0) << name;
  }
}

// The mean over the tokens that have a target.
TEST(TokenHead, ComparesTheTagsOfTokensWithATarget) {
  Small small({0, kNone, 0, 1, kNone, 0});
  const at::Tensor p =
      at::tensor({0.5, -1.0, 2.0, 2.0, 1.0, 0.0, -3.0, 1.0, 9.0, 9.0}).view({5, 2});
  const at::Tensor q =
      at::tensor({1.0, -1.0, 0.0, 5.0, 1.5, 2.0, -2.0, 0.5, 1.0, 4.0}).view({5, 2});
  const Loss loss = small.model.divergence(p, q, small.batch);
  double right = 0;
  for (const int token : {0, 2, 3}) {
    const at::Tensor logs = p[token].to(at::kDouble).log_softmax(0);
    const at::Tensor others = q[token].to(at::kDouble).log_softmax(0);
    right += (logs.exp() * (logs - others)).sum().item<double>() / 3;
  }
  EXPECT_EQ(loss.weight, 3);
  EXPECT_NEAR(loss.mean.item<double>(), right, 1e-6);
}

// The target of padding does not count, whatever it is: only tokens have outputs.
TEST(TokenHead, PaddingHasNoOutput) {
  Small small({0, 1, 0, 1, 1, 0});
  const at::Tensor outputs = small.model.forward(small.batch, nullptr);
  EXPECT_EQ(outputs.sizes().vec(), (std::vector<std::int64_t>{5, 2}));
  const at::Tensor logs = outputs.log_softmax(1);
  const Loss loss = small.model.loss(outputs, small.batch);
  EXPECT_EQ(loss.weight, 5);
  double sum = 0;
  const std::vector<int> tags = {0, 1, 0, 1, 1};
  for (int token = 0; token < 5; ++token) {
    sum -= logs[token][tags[static_cast<std::size_t>(token)]].item<double>();
  }
  EXPECT_NEAR(loss.mean.item<double>(), sum / 5, 1e-6);
}

TEST(TokenHead, OutputsAreFloatsInBf16) {
  Small small({0, 1, 0, 1, 1, 0}, 0, Precision::bf16);
  const at::Tensor outputs = small.model.forward(small.batch, &small.step);
  EXPECT_EQ(outputs.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::allclose(outputs, small.model.forward(small.batch, nullptr), 0.1, 0.02));
}

// Without dropout in the encoder, only the head's changes the outputs; a step and a sample
// determine it.
TEST(TokenHead, DropoutOfItsOwn) {
  Small small({0, 1, 0, 1, 1, 0}, 0.5);
  const at::Tensor without = small.model.forward(small.batch, nullptr);
  const at::Tensor with = small.model.forward(small.batch, &small.step).detach();
  EXPECT_FALSE(at::allclose(with, without, 1e-3, 1e-3));
  EXPECT_TRUE(at::equal(small.model.forward(small.batch, &small.step), with));
  const TrainingStep next{1, 2};
  EXPECT_FALSE(at::allclose(small.model.forward(small.batch, &next), with, 1e-3, 1e-3));
}

TEST(TokenHead, NeedsATag) {
  EXPECT_EQ(bp::test::refusal_of([] {
              const Bert model(small_config(), make_token_head, Precision::fp32, 1);
              return 0;
            }),
            "a head for token classification needs at least one tag");
}

}  // namespace
}  // namespace bp::trainer
