// The gradient of the word embeddings as rows of the words that a batch has.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/tasks/small_model.h"
#include "trainer/model/bert.h"
#include "trainer/tasks/classify/class_config.h"
#include "trainer/tasks/classify/classifier_head.h"
#include "trainer/tasks/pretrain/pretrain_head.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kWordEmbeddings = "bert.embeddings.word_embeddings.weight";

EncoderSpec config_with_labels() {
  EncoderSpec config = small_config();
  config.head = head_of({.labels = {"a", "b"}});
  return config;
}

const at::Tensor& words_of(const Bert& model) {
  for (const auto& [name, parameter] : model.parameters()) {
    if (name == kWordEmbeddings) return parameter;
  }
  throw std::out_of_range(kWordEmbeddings);
}

// Returns the gradient of the word embeddings after a backward pass for each of the batches.
at::Tensor gradient_of(const Bert& model, const std::vector<Batch>& batches) {
  const TrainingStep step{1, 1};
  for (const Batch& batch : batches) {
    model.loss(model.forward(batch, &step), batch).mean.backward();
  }
  return words_of(model).grad();
}

Batch labelled(std::vector<std::int64_t> ids) {
  Batch batch = small_batch();
  batch.token_ids = std::move(ids);
  batch.arrays = {{.integers = {0, 1}}};
  return batch;
}

TEST(SparseGradients, HaveTheNumbersOfDenseOnes) {
  const std::vector<Batch> batches = {labelled({1, 2, 3, 2, 2, 0}), labelled({8, 2, 1, 5, 4, 0})};
  const Bert dense(config_with_labels(), make_classifier_head, Precision::fp32, 1);
  Bert sparse(config_with_labels(), make_classifier_head, Precision::fp32, 1);
  EXPECT_THAT(sparse.sparse_gradients(), IsEmpty());
  sparse.use_sparse_gradients();
  EXPECT_THAT(sparse.sparse_gradients(), ElementsAre(kWordEmbeddings));
  const at::Tensor of_one = gradient_of(sparse, {batches[0]});
  ASSERT_TRUE(of_one.is_sparse());
  EXPECT_TRUE(
      at::equal(of_one.coalesce().indices(), at::tensor({1, 2, 3}, at::kLong).unsqueeze(0)));
  const at::Tensor of_both = gradient_of(sparse, {batches[1]});
  EXPECT_TRUE(at::equal(of_both.to_dense(), gradient_of(dense, batches)));
}

TEST(SparseGradients, AreNotUsedForFrozenOrTiedEmbeddings) {
  Bert frozen(config_with_labels(), make_classifier_head, Precision::fp32, 1);
  words_of(frozen).requires_grad_(false);
  frozen.use_sparse_gradients();
  EXPECT_THAT(frozen.sparse_gradients(), IsEmpty());

  const auto masked = [](const EncoderSpec& config, Parameters& parameters) {
    return make_pretrain_head(config, parameters, {}, false);
  };
  Bert tied(small_config(), masked, Precision::fp32, 1);
  tied.use_sparse_gradients();
  EXPECT_THAT(tied.sparse_gradients(), IsEmpty());
}

}  // namespace
}  // namespace bp::trainer
