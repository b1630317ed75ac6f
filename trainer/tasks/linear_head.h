// Heads of a linear layer share this.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/model/head.h"
#include "trainer/model/onnx_graph.h"

namespace bp::trainer {

// Dropout and a linear layer over the pooler's output, as in transformers' classes for sequence
// classification, such as BertForSequenceClassification. The outputs are [rows, outputs].
class LinearHead : public Head {
 public:
  struct Options {
    std::int64_t outputs = 1;
    std::optional<double> dropout = {};  // nothing: the encoder's
  };
  LinearHead(const Options& options, const EncoderSpec& config, Parameters& parameters);

  [[nodiscard]] States reads() const override { return States::first_tokens; }
  [[nodiscard]] at::Tensor forward(const Encoder& encoder,
                                   const Pass& pass,
                                   const at::Tensor& states,
                                   const Batch& batch) const override;
  void add_to(OnnxGraph& graph, const std::string& states) const override;

 private:
  // Adds what makes the answers of the outputs, in a graph of ONNX; by default they are the same.
  [[nodiscard]] virtual OnnxGraph::Value answer(OnnxGraph& graph,
                                                const OnnxGraph::Value& outputs) const;

  EncoderSpec spec_;
  double dropout_;
  Linear classifier_;
};

// Returns what the names of the weights begin with that a model for sequence classification has
// over those of a pre-trained one: those of the pooler and the classifier.
[[nodiscard]] std::vector<std::string> linear_head_weights(const EncoderSpec& spec);

// Returns the Kullback-Leibler divergence KL(softmax(logits) || softmax(others)) of each row, for
// Head::divergence(): [rows]. Both are [rows, classes].
[[nodiscard]] at::Tensor row_divergences(const at::Tensor& logits, const at::Tensor& others);

}  // namespace bp::trainer
