// A model: an encoder with the head of a task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <c10/core/Device.h>

#include "trainer/batches/batch.h"
#include "trainer/model/config.h"
#include "trainer/model/encoder.h"
#include "trainer/model/head.h"
#include "trainer/model/lora.h"
#include "trainer/model/parameters.h"
#include "trainer/model/pass.h"
#include "trainer/model/passes/precision.h"

namespace bp::trainer {

class Bert {
 public:
  // Draws the initial weights from `seed`; without one they are undefined, for a model that gets
  // others (Parameters). The padding token's row is 0. Throws invalid_argument if `config` is
  // invalid, and what `head` throws.
  // The parameters lie on `device`, and training computes there: see use_device() for CUDA's.
  // With `lora`, products have adapters, and only what LoraConfig::saves() names is trained: the
  // adapters, and the modules that saves_module() was called for.
  Bert(EncoderSpec config,
       const HeadMaker& head,
       Precision precision,
       Seed seed,
       std::optional<LoraConfig> lora = {},
       c10::Device device = c10::kCPU);
  Bert(const Bert&) = delete;
  Bert& operator=(const Bert&) = delete;

  [[nodiscard]] const EncoderSpec& config() const { return config_; }

  // Null for a model without adapters.
  [[nodiscard]] const LoraConfig* lora() const { return lora_ ? &*lora_ : nullptr; }
  // The module is also trained and saved: the base does not have it.
  void save_module(const std::string& module);
  // Adds the adapters to the matrices beside them: a model without adapters that computes the same,
  // up to the order of summations.
  void merge_adapters();

  // Returns the parameters in the order of the forward pass. The tensors share the model's memory.
  [[nodiscard]] const NamedTensors& parameters() const { return parameters_.all(); }

  // Returns other names of parameters, which files may have (Parameters::tied()).
  [[nodiscard]] const std::map<std::string, std::string>& ties() const {
    return parameters_.ties();
  }

  // The caller must call it after each change of parameters, before the next forward pass.
  void parameters_changed() { encoder_.parameters_changed(); }
  // As those of Encoder.
  void before_layers(const std::function<void(std::size_t layer)>& enter) {
    encoder_.before_layers(enter);
  }
  [[nodiscard]] bool enters_layers() const { return encoder_.enters_layers(); }
  void cast_by(Encoder::CastWeights cast) { encoder_.cast_by(std::move(cast)); }
  void cast_layers() { encoder_.cast_layers(); }
  // Returns the names of the parameters of each layer that has some of its own.
  [[nodiscard]] std::vector<std::vector<std::string>> layers() const;

  // Lets backward passes make a sparse gradient of the word embeddings, with only the rows of the
  // words that a batch has, where that is possible: on the CPU, if the embeddings are trained and
  // the head does not use them again.
  void use_sparse_gradients();
  // Returns the names of the parameters whose gradients are sparse.
  [[nodiscard]] std::vector<std::string> sparse_gradients() const;

  // Returns the head's outputs, fp32, on the model's device with `step` and on the host without.
  // With `step`, dropout is on and gradients are recorded unless
  // the caller has disabled them. With null, for evaluation, neither happens and everything is
  // fp32 unless evaluate_as_trained() says otherwise, so that the result depends only on the
  // weights. Any number of threads may evaluate at once. Throws invalid_argument if a sample is
  // longer than the model's positions.
  [[nodiscard]] at::Tensor forward(const Batch& batch, const TrainingStep* step) const;
  // From now on evaluation computes in the precision of training, too, or again in fp32. No thread
  // may evaluate meanwhile.
  void evaluate_as_trained(bool as_trained) { encoder_.evaluate_as_trained(as_trained); }
  // The outputs of forward(), and the encoder's states of all tokens: [layout->tokens, hidden],
  // after the embeddings and after each layer.
  struct WithStates {
    at::Tensor outputs;
    std::vector<at::Tensor> states = {};
    LayoutPtr layout = {};
  };
  // The outputs may differ from those of forward() in their last bits.
  [[nodiscard]] WithStates forward_with_states(const Batch& batch, const TrainingStep* step) const;

  // Adds a parameter "distillation.projection", [width, hidden], which maps states to those of a
  // wider or narrower model. It is trained and in checkpoints, but not in the model's folder.
  void add_projection(std::int64_t width);
  // Undefined without one.
  [[nodiscard]] const at::Tensor& projection() const { return projection_; }

  // Returns the loss of forward()'s outputs for the same batch.
  [[nodiscard]] Loss loss(const at::Tensor& outputs, const Batch& batch) const {
    return head_->loss(outputs, batch);
  }
  // Returns the names of the figures that loss() may report.
  [[nodiscard]] std::vector<std::string> figures() const { return head_->figures(); }
  // Returns Head::divergence() of two passes' outputs for the same batch.
  [[nodiscard]] Loss divergence(const at::Tensor& outputs,
                                const at::Tensor& others,
                                const Batch& batch) const {
    return head_->divergence(outputs, others, batch);
  }

  // Adds the whole model to a graph. Throws what Head::add_to() throws.
  void add_to(OnnxGraph& graph) const;

  // The outputs below the head, fp32 and as in evaluation: the last layer's state of each token,
  // [tokens, hidden], sample after sample without padding; and the pooler's output for each
  // sample's first token, [rows, hidden].
  [[nodiscard]] at::Tensor hidden_states(const Batch& batch) const;
  [[nodiscard]] at::Tensor pooled(const Batch& batch) const;

 private:
  void require_gradients();

  EncoderSpec config_;
  std::optional<LoraConfig> lora_;
  Parameters parameters_;
  Encoder encoder_;
  std::unique_ptr<Head> head_;
  at::Tensor projection_;
};

}  // namespace bp::trainer
