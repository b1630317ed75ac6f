// BERT with a classification head: encoder (layer norm after each sum, erf GELU), pooler, dropout,
// linear layer. It computes the same as transformers' BertForSequenceClassification.
//
// Parameters are always fp32. Precision::bf16 keeps activations and the weights of products in
// bf16, as autocast does, but casts each weight once per step; sums, norms and softmax compute in
// fp32. The pooler and the head, which process one row per sample, are fp32.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer/data/batch.h"
#include "trainer/model/config.h"

namespace at {
class Tensor;
}

namespace bp::trainer {

enum class Precision : std::uint8_t { fp32, bf16 };

// Returns false if LibTorch multiplies in this precision number by number, which is many times
// slower than fp32: for bf16 on x86 without AVX-512.
[[nodiscard]] bool has_fast_products(Precision precision);

class Bert {
 public:
  // Draws weights as BERT does: normal with the configuration's range, 0 for biases and the padding
  // token's row, 1 for norms. They depend only on `seed` and each parameter's name, so all ranks
  // draw the same ones. Throws invalid_argument if `config` is invalid or config.labels is empty.
  Bert(BertConfig config, Precision precision, std::uint64_t seed);
  ~Bert();
  Bert(const Bert&) = delete;
  Bert& operator=(const Bert&) = delete;

  [[nodiscard]] const BertConfig& config() const;

  // Returns the parameters in the order of the forward pass. The names are Hugging Face's, except
  // that query, key and value are one tensor: "...self.qkv.weight", [3 * hidden, hidden]. The
  // tensors share the model's memory.
  [[nodiscard]] const std::vector<std::pair<std::string, at::Tensor>>& parameters() const;

  // The caller must call it after each change of parameters, before the next forward pass.
  void parameters_changed();

  // Determines, with the samples of the batch, which numbers dropout draws in a training step.
  struct Step {
    std::uint64_t seed = 0;
    std::uint64_t number = 0;
    // Called with each activation and its name ("encoder.layer.0.attention.self") when it is
    // computed.
    std::function<void(const std::string& name, const at::Tensor& x)> observe = {};
  };
  // Returns logits, fp32 [batch.rows, labels]. With `step`, dropout is on and gradients are
  // recorded unless the caller has disabled them. With null, for evaluation, neither happens and
  // everything is fp32, so that the result depends only on the weights. Any number of threads may
  // evaluate at once. Throws invalid_argument if a sample is longer than the model's positions.
  [[nodiscard]] at::Tensor forward(const Batch& batch, const Step* step) const;

  // The outputs below the head, fp32 and as in evaluation: the last layer's state of each token,
  // [tokens, hidden], sample after sample without padding; and the pooler's output for each
  // sample's first token, [rows, hidden].
  [[nodiscard]] at::Tensor hidden_states(const Batch& batch) const;
  [[nodiscard]] at::Tensor pooled(const Batch& batch) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Returns the mean cross entropy of logits [rows, labels] against batch.labels, a scalar.
[[nodiscard]] at::Tensor classification_loss(const at::Tensor& logits, const Batch& batch);

}  // namespace bp::trainer
