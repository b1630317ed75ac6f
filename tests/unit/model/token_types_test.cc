// Compares the embeddings of token types with transformers.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bp/error.h"
#include "tests/unit/model/golden.h"
#include "tests/unit/model/golden_tensors.h"
#include "trainer/model/bert.h"
#include "trainer/model/weights.h"
#include "trainer/tasks/classify/classifier_head.h"

namespace bp::trainer {
namespace {

using ::testing::HasSubstr;

class GoldenTypes : public ::testing::Test {
 protected:
  GoldenTypes() { (void)load_weights(model_, kGolden + "/model.safetensors"); }
  [[nodiscard]] std::string refusal_of(std::int64_t type) {
    batch_.token_types[13] = type;
    try {
      (void)model_.forward(batch_, nullptr);
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }

  std::map<std::string, at::Tensor> expected_ =
      read_tensors(kGolden + "/expected_types.safetensors");
  Batch batch_ = golden_batch(expected_);
  Bert model_{golden_config(0), make_classifier_head, Precision::fp32, 1};
  TrainingStep step_{1, 1};
};

TEST_F(GoldenTypes, HiddenStatesLossAndEveryGradientEqualTransformers) {
  EXPECT_TRUE(at::allclose(model_.hidden_states(batch_), expected_.at("hidden"), 1e-5, 2e-6));
  const at::Tensor logits = model_.forward(batch_, &step_);
  EXPECT_TRUE(at::allclose(logits, expected_.at("logits"), 1e-5, 2e-6));
  const at::Tensor loss = model_.loss(logits, batch_).mean;
  EXPECT_NEAR(loss.item<float>(), expected_.at("loss").item<float>(), 2e-6);
  loss.backward();
  expect_gradients(model_, expected_);
}

TEST_F(GoldenTypes, NoTypesMeansTypeZero) {
  const at::Tensor typed = model_.forward(batch_, nullptr);
  std::ranges::fill(batch_.token_types, 0);
  const at::Tensor zeros = model_.forward(batch_, nullptr);
  batch_.token_types.clear();
  EXPECT_TRUE(at::equal(model_.forward(batch_, nullptr), zeros));
  EXPECT_FALSE(at::allclose(typed, zeros, 1e-2, 1e-2));
}

TEST_F(GoldenTypes, AModelRefusesTypesThatItDoesNotHave) {
  EXPECT_EQ(refusal_of(1), "none");
  EXPECT_THAT(refusal_of(2), HasSubstr("a token of type 2: the model's 'type_vocab_size' is 2, so "
                                       "its types are 0 to 1"));
  EXPECT_THAT(refusal_of(-1), HasSubstr("a token of type -1: the model's"));
}

}  // namespace
}  // namespace bp::trainer
