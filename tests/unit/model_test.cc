// Compares the model with transformers and checks the promises of bert.h and weights.h.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "bp/error.h"
#include "tests/support/places.h"
#include "tests/unit/model/golden.h"
#include "tests/unit/model/golden_tensors.h"
#include "trainer/model/bert.h"
#include "trainer/model/weights.h"
#include "trainer/tasks/classify/class_config.h"
#include "trainer/tasks/classify/classifier_head.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Returns the rows `rows` of a batch, padded no wider than they need.
Batch part_of(const Batch& batch, const std::vector<int>& rows) {
  Batch part;
  part.rows = static_cast<int>(rows.size());
  for (const int r : rows) {
    part.length = std::max<int>(part.length, batch.lengths[static_cast<std::size_t>(r)]);
  }
  part.arrays.resize(1);
  for (const int row : rows) {
    const auto r = static_cast<std::size_t>(row);
    const auto begin = batch.token_ids.begin() + std::ptrdiff_t{row} * batch.length;
    part.token_ids.insert(part.token_ids.end(), begin, begin + part.length);
    part.lengths.push_back(batch.lengths[r]);
    part.arrays[0].integers.push_back(batch.arrays[0].integers[r]);
    part.sample_ids.push_back(batch.sample_ids[r]);
  }
  return part;
}

class Golden : public ::testing::Test {
 protected:
  std::map<std::string, at::Tensor> expected_ = read_tensors(kGolden + "/expected.safetensors");
  Batch batch_ = golden_batch(expected_);
  TrainingStep step_{1, 1};
};

// docs/features.md, Models and losses: Classification into any number of labels | `--task
// classify`, `--multi-label`
TEST_F(Golden, LogitsLossAndEveryGradientEqualTransformers) {
  Bert model(golden_config(0), make_classifier_head, Precision::fp32, 1);
  const LoadReport report = load_weights(model, kGolden + "/model.safetensors");
  EXPECT_THAT(report.missing, IsEmpty());
  EXPECT_THAT(report.unexpected, IsEmpty());
  EXPECT_THAT(report.misshaped, IsEmpty());

  const at::Tensor logits = model.forward(batch_, &step_);
  EXPECT_TRUE(at::allclose(logits, expected_.at("logits"), 1e-5, 2e-6));
  const at::Tensor loss = model.loss(logits, batch_).mean;
  EXPECT_NEAR(loss.item<float>(), expected_.at("loss").item<float>(), 2e-6);
  loss.backward();
  expect_gradients(model, expected_);
}

TEST_F(Golden, EvaluationIsTheSameAndRecordsNothing) {
  Bert model(golden_config(0.5), make_classifier_head, Precision::fp32, 1);
  (void)load_weights(model, kGolden + "/model.safetensors");
  const at::Tensor logits = model.forward(batch_, nullptr);
  EXPECT_TRUE(at::allclose(logits, expected_.at("logits"), 1e-5, 2e-6));
  EXPECT_FALSE(logits.requires_grad());
}

struct HalfPrecision {
  Precision precision;
  double rounding;    // the most by which a rounding changes a number, as a share of it
  double loss_scale;  // keeps gradients in range
};

class GoldenInHalfPrecision : public Golden, public ::testing::WithParamInterface<HalfPrecision> {};

// bf16 rounds to 8 significant bits and fp16 to 11. A few roundings lie between the input and the
// logits, some more before each gradient.
// docs/acceptance.md, Precision: A model in half precision has nearly transformers' numbers.
TEST_P(GoldenInHalfPrecision, IsNear) {
  const auto [precision, rounding, loss_scale] = GetParam();
  Bert model(golden_config(0), make_classifier_head, precision, 1);
  (void)load_weights(model, kGolden + "/model.safetensors");
  const at::Tensor logits = model.forward(batch_, &step_);
  EXPECT_EQ(logits.scalar_type(), at::kFloat);
  EXPECT_LE(relative_error(logits, expected_.at("logits")), 5 * rounding);
  EXPECT_GT(relative_error(logits, expected_.at("logits")), 0.01 * rounding) << "it must round";
  (model.loss(logits, batch_).mean * loss_scale).backward();
  for (const auto& [name, scaled] : gradients(model)) {
    EXPECT_EQ(scaled.scalar_type(), at::kFloat);
    const at::Tensor gradient = scaled / loss_scale;
    if (name.ends_with("key.bias")) {  // softmax does not depend on it, so it is 0 but for rounding
      const at::Tensor& weight = expected_.at("grad." + name.substr(0, name.size() - 4) + "weight");
      EXPECT_LE(gradient.norm().item<double>(), rounding * weight.norm().item<double>()) << name;
    } else {
      EXPECT_LE(relative_error(gradient, expected_.at("grad." + name)), 10 * rounding) << name;
    }
  }
  // Changing one token of one text must exceed the rounding.
  batch_.token_ids[3] = batch_.token_ids[3] == 5 ? 6 : 5;
  const double other = relative_error(model.forward(batch_, &step_), expected_.at("logits"));
  EXPECT_GT(other, 5 * rounding);
}

TEST_P(GoldenInHalfPrecision, ParametersChangedBringsNewWeightsIntoIt) {
  Bert model(golden_config(0), make_classifier_head, GetParam().precision, 1);
  const at::Tensor before = model.forward(batch_, &step_).detach();
  (void)load_weights(model, kGolden + "/model.safetensors");
  EXPECT_FALSE(at::allclose(model.forward(batch_, &step_), before, 0.05, 0.05));
}

INSTANTIATE_TEST_SUITE_P(All,
                         GoldenInHalfPrecision,
                         ::testing::Values(HalfPrecision{Precision::bf16, 0x1p-8, 1},
                                           HalfPrecision{Precision::fp16, 0x1p-11, 65536}),
                         [](const auto& one) {
                           return one.param.precision == Precision::bf16 ? "Bf16" : "Fp16";
                         });

// The derivative along the gradient with dropout on: the backward pass must use the masks of the
// forward pass.
TEST_F(Golden, GradientOfDropoutIsThatOfItsMask) {
  Bert model(golden_config(0.3), make_classifier_head, Precision::fp32, 1);
  (void)load_weights(model, kGolden + "/model.safetensors");
  model.loss(model.forward(batch_, &step_), batch_).mean.backward();
  double squares = 0;
  for (const auto& [name, p] : model.parameters()) {
    squares += p.grad().square().sum().item<double>();
  }
  const auto loss_at = [&](double distance) {
    for (const auto& [name, p] : model.parameters()) {
      p.detach().add_(p.grad(), distance / std::sqrt(squares));
    }
    const double loss = model.loss(model.forward(batch_, &step_), batch_).mean.item<double>();
    for (const auto& [name, p] : model.parameters()) {
      p.detach().sub_(p.grad(), distance / std::sqrt(squares));
    }
    return loss;
  };
  const double slope = (loss_at(1e-3) - loss_at(-1e-3)) / 2e-3;
  EXPECT_NEAR(slope, std::sqrt(squares), 0.01 * std::sqrt(squares));
}

// docs/features.md, Optimization: Seeds | `--seed`
TEST_F(Golden, DropoutDependsOnSampleStepAndSeedOnly) {
  Bert model(golden_config(0.3), make_classifier_head, Precision::fp32, 1);
  (void)load_weights(model, kGolden + "/model.safetensors");
  const at::Tensor whole = model.forward(batch_, &step_).detach();
  const at::Tensor part = model.forward(part_of(batch_, {2, 0}), &step_).detach();
  EXPECT_TRUE(at::allclose(part[0], whole[2], 1e-5, 1e-5));
  EXPECT_TRUE(at::allclose(part[1], whole[0], 1e-5, 1e-5));
  const TrainingStep other_step{1, 2};
  const TrainingStep other_seed{2, 1};
  EXPECT_FALSE(at::allclose(model.forward(batch_, &other_step), whole, 1e-3, 1e-3));
  EXPECT_FALSE(at::allclose(model.forward(batch_, &other_seed), whole, 1e-3, 1e-3));
  Batch others = batch_;
  for (std::int64_t& id : others.sample_ids) id += 10;
  EXPECT_FALSE(at::allclose(model.forward(others, &step_), whole, 1e-3, 1e-3));
}

TEST_F(Golden, ResultsDoNotDependOnThreads) {
  const auto run = [&](int threads) {
    at::set_num_threads(threads);
    Bert model(golden_config(0.3), make_classifier_head, Precision::fp32, 7);
    const at::Tensor loss = model.loss(model.forward(batch_, &step_), batch_).mean;
    loss.backward();
    return std::make_pair(loss.item<float>(), model.parameters()[0].second.grad().clone());
  };
  const auto one = run(1);
  const auto two = run(2);
  EXPECT_EQ(one.first, two.first);
  EXPECT_TRUE(at::equal(one.second, two.second));
}

TEST(Model, InitialWeightsAreNormalAsConfigured) {
  EncoderSpec config = preset("tiny").value();
  config.vocabulary = 1000;
  config.head = head_of({.labels = {"a", "b"}});
  const Bert model(config, make_classifier_head, Precision::fp32, 3);
  const Bert same(config, make_classifier_head, Precision::bf16, 3);
  const Bert other(config, make_classifier_head, Precision::fp32, 4);
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    const auto& [name, p] = model.parameters()[i];
    EXPECT_TRUE(p.requires_grad() && p.is_leaf()) << name;
    EXPECT_TRUE(at::equal(p, same.parameters()[i].second)) << name;
    if (name.ends_with("bias")) {
      EXPECT_EQ(p.abs().max().item<float>(), 0.0F) << name;
    } else if (name.ends_with("LayerNorm.weight")) {
      EXPECT_EQ((p - 1).abs().max().item<float>(), 0.0F) << name;
    } else {
      const auto n = static_cast<double>(p.numel());
      const double width = config.initializer_range;
      EXPECT_NEAR(p.detach().mean().item<double>(), 0, 5 * width / std::sqrt(n)) << name;
      EXPECT_NEAR(p.detach().std().item<double>(), width, 5 * width / std::sqrt(2 * n)) << name;
      EXPECT_FALSE(at::equal(p, other.parameters()[i].second)) << name;
    }
  }
  EXPECT_EQ(model.parameters()[0].second[0].abs().max().item<float>(), 0.0F);  // padding
  EXPECT_FALSE(at::equal(model.parameters()[5].second.flatten().slice(0, 0, 100),
                         model.parameters()[0].second.flatten().slice(0, 128, 228)));
}

TEST(Model, RefusesUnsupportedConfigs) {
  EncoderSpec config = preset("tiny").value();
  EXPECT_THROW(Bert(config, make_classifier_head, Precision::fp32, 1),
               Error);  // the config has no labels
  config.head = head_of({.labels = {"a", "b"}});
  config.vocabulary = 10;
  config.positions = 4;
  Bert model(config, make_classifier_head, Precision::fp32, 1);
  Batch batch;
  batch.rows = 1;
  batch.length = 5;
  batch.token_ids = {1, 2, 3, 4, 5};
  batch.lengths = {5};
  batch.arrays = {{.integers = {0}}};
  batch.sample_ids = {0};
  try {
    (void)model.forward(batch, nullptr);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("5 tokens is longer than the model's 4 positions"));
  }
}

// An old file of torch.save and DDP: halves under an old name.
TEST_F(Golden, TorchFileIsAccepted) {
  Bert model(golden_config(0.1), make_classifier_head, Precision::fp32, 5);
  const LoadReport report = load_weights(model, kSourceDir + "/tests/golden/torch_file/types.bin");
  EXPECT_EQ(report.missing.size(), kGoldenParameters - 1);
  EXPECT_THAT(report.unexpected, ElementsAre("brain", "double", "half", "long", "none", "single"));
  EXPECT_EQ(model.parameters()[3].first, "bert.embeddings.LayerNorm.weight");
  EXPECT_EQ(model.parameters()[3].second[7].item<float>(), 7.0F);
}

TEST_F(Golden, HeadCanBeOmitted) {
  Bert model(golden_config(0), make_classifier_head, Precision::fp32, 1);
  const LoadReport report = load_weights(model, kGolden + "/model.safetensors", {"classifier."});
  EXPECT_THAT(report.missing, ElementsAre("classifier.bias", "classifier.weight"));
  EXPECT_THAT(report.unexpected, IsEmpty());
  EXPECT_EQ(model.parameters().back().second.abs().max().item<float>(), 0.0F);
}

// The head reads first tokens only. hidden_states() returns all tokens, with the same first ones.
TEST_F(Golden, HiddenStatesLeadToTheLogits) {
  Bert model(golden_config(0), make_classifier_head, Precision::fp32, 1);
  (void)load_weights(model, kGolden + "/model.safetensors");
  const at::Tensor hidden = model.hidden_states(batch_);
  EXPECT_THAT(hidden.sizes().vec(), ElementsAre(7 + 11 + 2 + 9, 24));
  std::map<std::string, at::Tensor> weights;
  for (const auto& [name, tensor] : model.parameters()) weights[name] = tensor.detach();
  const at::Tensor firsts = at::stack({hidden[0], hidden[7], hidden[18], hidden[20]});
  const at::Tensor pooled = at::tanh(
      at::linear(firsts, weights["bert.pooler.dense.weight"], weights["bert.pooler.dense.bias"]));
  EXPECT_TRUE(at::allclose(model.pooled(batch_), pooled, 1e-5, 2e-6));
  EXPECT_TRUE(
      at::allclose(at::linear(pooled, weights["classifier.weight"], weights["classifier.bias"]),
                   expected_.at("logits"), 1e-5, 2e-6));
}

}  // namespace
}  // namespace bp::trainer
