// Compares the heads of pre-training with transformers (tests/golden/pretrain).
#include "trainer/tasks/pretrain/pretrain_head.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/adamw.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bp/error.h"
#include "tests/unit/model/golden_tensors.h"
#include "tests/unit/tasks/pretrain/golden_pretrain.h"
#include "trainer/model/bert.h"
#include "trainer/model/weights.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

bool near(const at::Tensor& got, const at::Tensor& right) {
  return at::allclose(got, right, 1e-5, 3e-6);
}

// A step that keeps the activations that the heads report.
class PretrainGolden : public GoldenPretrain {
 protected:
  TrainingStep step_{
      1, 1, [this](const std::string& name, const at::Tensor& x) { seen_[name] = x.detach(); }};
  std::map<std::string, at::Tensor> seen_;
};

TEST_F(PretrainGolden, LogitsLossAndEveryGradientEqualTransformers) {
  const auto model = with_both();
  EXPECT_TRUE(near(model->hidden_states(batch_), expected_.at("hidden")));
  const at::Tensor outputs = model->forward(batch_, &step_);
  EXPECT_TRUE(near(seen_.at("cls.predictions"), expected_.at("logits")));
  EXPECT_TRUE(near(seen_.at("cls.seq_relationship"), expected_.at("next_logits")));
  EXPECT_TRUE(at::equal(
      outputs.select(1, 1).to(at::kLong),
      at::cat({expected_.at("logits").argmax(1), expected_.at("next_logits").argmax(1)})));
  const Loss loss = model->loss(outputs, batch_);
  EXPECT_EQ(loss.weight, 5);
  EXPECT_NEAR(loss.mean.item<float>(), expected_.at("loss").item<float>(), 3e-6);
  loss.mean.backward();
  expect_gradients(*model, expected_);
}

TEST_F(PretrainGolden, TheLossReportsTheShareOfRightGuesses) {
  const auto model = with_both();
  at::Tensor outputs = model->forward(batch_, nullptr).clone();
  for (std::size_t i = 0; i < 8; ++i) {  // all masked tokens but the first two are guessed
    outputs[static_cast<std::int64_t>(i)][1] = targets_.ids[i] + (i < 2 ? 1 : 0);
  }
  for (std::size_t i = 0; i < 5; ++i) {
    outputs[static_cast<std::int64_t>(8 + i)][1] = 1 - targets_.next_sentence[i];
  }
  const Loss loss = model->loss(outputs, batch_);
  EXPECT_THAT(model->figures(), ElementsAre("masked_accuracy", "next_sentence_accuracy"));
  const std::vector<Figure> figures = read_figures(loss.figures);
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[0].name, "masked_accuracy");
  EXPECT_EQ(figures[0].sum, 6);
  EXPECT_EQ(figures[0].weight, 8);
  EXPECT_EQ(figures[1].sum, 0);
  EXPECT_EQ(figures[1].weight, 5);
  EXPECT_THAT(masked_only()->figures(), ElementsAre("masked_accuracy"));
}

TEST_F(PretrainGolden, MaskedLossAndEveryGradientEqualTransformers) {
  const auto model = masked_only();
  const Loss loss = model->loss(model->forward(batch_, &step_), batch_);
  EXPECT_EQ(loss.weight, 8);
  EXPECT_NEAR(loss.mean.item<float>(), expected_.at("masked.loss").item<float>(), 3e-6);
  loss.mean.backward();
  std::map<std::string, at::Tensor> expected;
  for (const auto& [name, tensor] : expected_) {
    if (name.starts_with("masked.")) expected[name.substr(7)] = tensor;
  }
  expect_gradients(*model, expected);
}

// As in transformers.
TEST_F(PretrainGolden, OnlyAModelOfNextSentencesHasAPooler) {
  const auto poolers = [](const Bert& model) {
    return std::ranges::count_if(model.parameters(), [](const auto& parameter) {
      return parameter.first.starts_with("bert.pooler.");
    });
  };
  EXPECT_EQ(poolers(*masked_only()), 0);
  EXPECT_EQ(poolers(*with_both()), 2);
}

// docs/features.md, Models and losses: Masked words and next sentences | `--task pretrain`
TEST_F(PretrainGolden, TwentyStepsOfAdamWEqualTransformers) {
  const auto model = with_both();
  std::vector<at::Tensor> parameters;
  for (const auto& [name, parameter] : model->parameters()) parameters.push_back(parameter);
  torch::optim::AdamW optimizer(parameters, torch::optim::AdamWOptions(1e-3).weight_decay(0.01));
  for (int i = 0; i < 20; ++i) {
    const at::Tensor loss = model->loss(model->forward(batch_, &step_), batch_).mean;
    EXPECT_NEAR(loss.item<float>(), expected_.at("losses")[i].item<float>(), 1e-4) << i;
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    model->parameters_changed();
  }
}

TEST_F(PretrainGolden, EvaluationGivesTheSameNumbers) {
  const auto model = with_both();
  const at::Tensor trained = model->forward(batch_, &step_).detach();
  const at::Tensor evaluated = model->forward(batch_, nullptr);
  EXPECT_TRUE(near(evaluated, trained));
  EXPECT_FALSE(evaluated.requires_grad());
}

// bf16 rounds to 8 significant bits, fp16 to 11.
TEST_F(PretrainGolden, HalfPrecisionIsNear) {
  for (const auto& [precision, near] :
       {std::pair{Precision::bf16, 0.05F}, std::pair{Precision::fp16, 0.05F / 8}}) {
    const auto model = with_both(precision);
    const at::Tensor outputs = model->forward(batch_, &step_);
    EXPECT_EQ(outputs.scalar_type(), at::kFloat);
    const Loss loss = model->loss(outputs, batch_);
    EXPECT_NEAR(loss.mean.item<float>(), expected_.at("loss").item<float>(), near);
    constexpr float kScale = 65536;  // keeps small gradients in the range of fp16
    (loss.mean * kScale).backward();
    const auto word = gradients(*model).at("bert.embeddings.word_embeddings.weight") / kScale;
    const auto& right = expected_.at("grad.bert.embeddings.word_embeddings.weight");
    EXPECT_LE((word - right).norm().item<float>(), near * right.norm().item<float>());
  }
}

// Adds up the gradients of parts by their weights, as ranks do.
TEST_F(PretrainGolden, PartsOfABatchGiveTheGradientOfTheWhole) {
  for (const bool next_sentence : {true, false}) {
    const auto model = next_sentence ? with_both() : masked_only();
    double weight = 0;
    at::Tensor sum = at::zeros({});
    masked_per_sample_ = 8.0 / 5;
    for (const std::vector<int>& rows : std::vector<std::vector<int>>{{0, 3}, {1}, {2, 4}}) {
      const Batch part = part_of(rows);
      const Loss loss = model->loss(model->forward(part, &step_), part);
      sum = sum + loss.mean * loss.weight;
      weight += loss.weight;
    }
    (sum / weight).backward();
    const std::string prefix = next_sentence ? "grad." : "masked.grad.";
    for (const auto& [name, gradient] : gradients(*model)) {
      if (!gradient.defined()) continue;
      EXPECT_TRUE(at::allclose(gradient, expected_.at(prefix + name), 1e-4, 3e-6)) << name;
    }
  }
}

TEST_F(PretrainGolden, ABatchWithoutMaskedTokensHasNoMaskedLoss) {
  const Batch none = part_of({3});
  const auto masked = masked_only();
  const Loss loss = masked->loss(masked->forward(none, &step_), none);
  EXPECT_EQ(loss.weight, 0);
  EXPECT_EQ(loss.mean.item<float>(), 0);
  loss.mean.backward();
  const auto both = with_both();
  const Loss of_next = both->loss(both->forward(none, &step_), none);
  EXPECT_EQ(of_next.weight, 1);
  EXPECT_GT(of_next.mean.item<float>(), 0);
}

TEST_F(PretrainGolden, TargetsOutsideTheSampleOrTheVocabularyAreRefused) {
  const auto model = with_both();
  const auto refusal = [&] {
    try {
      (void)model->forward(batch_, nullptr);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const PretrainTargets right = targets_;
  targets_.positions[1] = 7;  // of the first sample
  EXPECT_THAT(refusal(), HasSubstr("a masked token at position 7 of a sample of 7 tokens"));
  targets_ = right;
  targets_.ids[2] = 41;
  EXPECT_THAT(refusal(), HasSubstr("the id of a masked token is 41; it must be 0 to 40"));
  targets_ = right;
  targets_.next_sentence[0] = -100;
  EXPECT_THAT(refusal(), HasSubstr("'next_sentence' of a sample is -100; it must be 0 to 1"));
}

}  // namespace
}  // namespace bp::trainer
