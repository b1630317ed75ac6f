// The encoder that a spec describes: embeddings, layers with layer norms and GELU, and the pooler.
// It computes the same as the model of transformers, such as BertModel.
//
// Parameters are always fp32. Precision::bf16 and Precision::fp16 keep activations and the weights
// of products in that type, as autocast does, but cast each weight once per step; sums, norms and
// softmax compute in fp32. The pooler, which processes one row per sample, is fp32.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <c10/core/ScalarType.h>

#include "trainer/batches/batch.h"
#include "trainer/model/config.h"
#include "trainer/model/lora.h"
#include "trainer/model/parameters.h"
#include "trainer/model/pass.h"
#include "trainer/model/passes/precision.h"
#include "trainer/model/passes/rotary.h"

namespace bp::trainer {

// Which states the reader of the encoder needs. The last layer computes no others.
enum class States : std::uint8_t { first_tokens, all_tokens };

class Encoder {
 public:
  // Adds its parameters, under Hugging Face's names, except that query, key and value are one
  // tensor: "...self.qkv.weight", [3 * hidden, hidden]. `spec` must be valid. `lora`: which
  // products get adapters, and how; null: none. It must live as long as the encoder.
  Encoder(const EncoderSpec& spec,
          Precision precision,
          const LoraConfig* lora,
          Parameters& parameters);

  // Whether evaluation computes in the precision of training, too, instead of in fp32.
  void evaluate_as_trained(bool as_trained) { as_trained_ = as_trained; }

  // Casts the weights that products use. The caller must call it after each change of parameters.
  void parameters_changed();

  // From now on a pass calls `enter` before it reads the parameters of a layer, forward and
  // backward, and the model need not have them before. So parameters_changed() leaves those of
  // layers to the passes, or to cast_layers(). Null: no longer. Then call parameters_changed().
  void before_layers(const std::function<void(std::size_t layer)>& enter);
  [[nodiscard]] bool enters_layers() const { return enter_ != nullptr; }
  void cast_layers();
  // How it casts weights; null: alone, into new tensors. Then call parameters_changed().
  using CastWeights = std::function<void(const std::vector<Weight*>&, at::ScalarType number)>;
  void cast_by(CastWeights cast) { cast_ = std::move(cast); }

  // Adds what the adapters compute to the matrices beside them. The encoder has no adapters
  // afterwards.
  void merge_adapters();

  // From now on the gradient of the word embeddings is sparse (embed()).
  void use_sparse_words() { sparse_words_ = true; }
  [[nodiscard]] bool has_sparse_words() const { return sparse_words_; }

  // Throws invalid_argument if a sample is longer than the model's positions.
  [[nodiscard]] Pass begin(const Batch& batch, const TrainingStep* step) const;
  // Returns the last layer's states: of each sample's first token or, if the spec says so, the mean
  // of those of its tokens, [rows, hidden], or of all tokens, sample after sample without padding,
  // [pass.layout->tokens, hidden]; the rows after layout->offsets.back() only fill up. Throws
  // invalid_argument if a token is of a type that the model does not have.
  [[nodiscard]] at::Tensor encode(const Pass& pass, const Batch& batch, States states) const;
  // Returns the pooler's output for the states of first tokens: fp32 [rows, hidden]. If the spec
  // says that it pools tokens, also for those of all tokens.
  [[nodiscard]] at::Tensor pool(const Pass& pass, const at::Tensor& first) const;

 private:
  class LayerPass;
  // The attention of a decoder's layer to the encoder's states.
  struct Cross {
    std::vector<Linear> qkv;  // queries, of the decoder's states, and keys and values
    Linear output;
    Norm norm;
  };
  struct Layer {
    Linear qkv;
    Linear attention_output;
    Norm attention_norm;  // undefined in a first layer that norms what it reads
    std::optional<Cross> cross;
    Linear intermediate;
    Linear output;
    Norm norm;
    std::vector<at::Tensor> parameters;  // all of them
  };
  // The embeddings of positions that the first layer of the encoder or of the decoder reads.
  struct Stack {
    at::Tensor positions;
    Norm norm;
    std::uint32_t site = 0;  // of dropout
  };
  struct LayerSpan {
    std::size_t first = 0;
    std::size_t end = 0;
  };
  [[nodiscard]] Layer make_layer(int number, Parameters& parameters) const;
  // Adds adapters to a product, whose outputs are those of `modules` one after the other.
  void adapt(Linear& linear,
             const std::string& layer,
             std::span<const std::string> modules,
             std::uint32_t& site,
             Parameters& parameters) const;
  [[nodiscard]] std::vector<Linear*> products();
  void cast(const std::vector<Linear*>& products);
  void cast_layer(std::size_t layer);
  // Returns the products of a layer in the order of WeightNames::products().
  [[nodiscard]] static std::vector<Linear*> products_of(Layer& layer);
  // Returns the states of all tokens before the first layer of a stack.
  [[nodiscard]] at::Tensor embeddings(const Pass& pass,
                                      const at::Tensor& ids,
                                      const at::Tensor& types,
                                      const Stack& stack) const;
  // Returns the type of each token, i64 [layout->offsets.back()]. A model of one type does not tell
  // the parts of a sample apart.
  [[nodiscard]] at::Tensor token_types(const Pass& pass, const Batch& batch) const;
  // Returns states of all tokens in the order of the batch.
  [[nodiscard]] at::Tensor in_text_order(const at::Tensor& x, const Layout& layout) const;
  // Maps the states of all tokens through these layers, and perhaps records or recomputes them.
  [[nodiscard]] at::Tensor through(const Pass& pass,
                                   LayerSpan span,
                                   const at::Tensor& x,
                                   States states) const;
  // The last layer maps to [rows, hidden] if only first tokens are wanted.
  [[nodiscard]] at::Tensor layers(const Pass& pass,
                                  LayerSpan span,
                                  const at::Tensor& x,
                                  States states) const;
  [[nodiscard]] at::Tensor recomputed(const Pass& pass,
                                      LayerSpan span,
                                      const at::Tensor& x,
                                      States states) const;
  [[nodiscard]] std::vector<at::Tensor> parameters_of(LayerSpan span) const;
  // Sets what the pass has for the distances of tokens.
  void begin_relative(Pass& pass) const;
  // Layers may share their weights.
  [[nodiscard]] const Layer& layer_at(std::size_t index) const {
    return layers_[index % layers_.size()];
  }
  // Returns what to add to the dropout sites of a layer's adapters, which layers may share.
  [[nodiscard]] std::uint32_t shared_by(std::size_t index) const {
    return static_cast<std::uint32_t>(index / layers_.size()) * kAdaptersOfLayer;
  }
  // Returns for how many attentions a layer has dropout sites. Without a decoder no layer has two.
  [[nodiscard]] std::uint32_t attentions() const { return spec_.has_decoder() ? 2 : 1; }
  // Returns the first dropout site of a layer's adapters.
  [[nodiscard]] std::uint32_t adapter_site(int layer) const;

  EncoderSpec spec_;
  const LoraConfig* lora_;
  at::ScalarType number_;  // of activations in training
  bool as_trained_ = false;
  at::Tensor words_;
  at::Tensor types_;
  bool sparse_words_ = false;
  Stack encoder_;
  Stack decoder_;                     // undefined without a decoder
  std::optional<Linear> projection_;  // of the embeddings, if they are not as wide as the layers
  at::Tensor relative_;               // of distances; undefined: the model has nothing for them
  Norm relative_norm_;                // of its rows, in disentangled attention
  Rotation rotation_;                 // in layers that see whole texts, if the spec has any
  Rotation local_rotation_;           // in local layers
  std::vector<Layer> layers_;
  std::vector<bool> is_cast_;  // by layer
  std::function<void(std::size_t layer)> enter_;
  CastWeights cast_;
  Norm final_norm_;  // undefined without one, as that of the pooler
  Linear pooler_;
  Norm pooler_norm_;
};

}  // namespace bp::trainer
