// BERT with a classification head: encoder (layer norm after each sum, erf GELU), pooler, dropout,
// linear. The numbers are those of transformers' BertForSequenceClassification.
//
// Parameters are fp32 always. Precision::bf16 keeps activations and the products' weights in bf16
// (sums, norms and softmax inside are fp32), as autocast would, but casts each weight once a step.
// The pooler and the head, a row a sample, are fp32.
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

// False where LibTorch multiplies in it number by number, many times as slowly as in fp32: in bf16
// on x86 without AVX-512.
[[nodiscard]] bool has_fast_products(Precision precision);

class Bert {
 public:
  // Weights drawn as BERT's: normal with the configuration's range, biases and the padding's row 0,
  // norms 1. They depend on `seed` and each parameter's name only, so all ranks draw the same.
  // config.labels must not be empty.
  Bert(BertConfig config, Precision precision, std::uint64_t seed);
  ~Bert();
  Bert(const Bert&) = delete;
  Bert& operator=(const Bert&) = delete;

  [[nodiscard]] const BertConfig& config() const;

  // Names are Hugging Face's, except that query, key and value are one: "...self.qkv.weight",
  // [3 * hidden, hidden]. In the order of the forward pass. The tensors share the model's memory.
  [[nodiscard]] const std::vector<std::pair<std::string, at::Tensor>>& parameters() const;

  // To be called after every change of parameters, before the next forward pass.
  void parameters_changed();

  // Which numbers dropout draws in a training step; the samples of the batch choose the rest.
  struct Step {
    std::uint64_t seed = 0;
    std::uint64_t number = 0;
    // Called with each activation and its name ("encoder.layer.0.attention.self") as it is made.
    std::function<void(const std::string& name, const at::Tensor& x)> observe = {};
  };
  // Logits, fp32 [batch.rows, labels]. With `step` dropout is on and gradients are recorded, unless
  // the caller forbids them. Null for evaluation: neither, and all in fp32, so that the result
  // depends on the weights alone. Any number of threads may evaluate at once.
  [[nodiscard]] at::Tensor forward(const Batch& batch, const Step* step) const;

  // What is below the head, fp32, as in evaluation: the last layer's state of every token, [tokens,
  // hidden], sample after sample without padding; and what the pooler makes of each sample's first
  // token, [rows, hidden].
  [[nodiscard]] at::Tensor hidden_states(const Batch& batch) const;
  [[nodiscard]] at::Tensor pooled(const Batch& batch) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The mean cross entropy of logits [rows, labels] against batch.labels: a scalar.
[[nodiscard]] at::Tensor classification_loss(const at::Tensor& logits, const Batch& batch);

}  // namespace bp::trainer
