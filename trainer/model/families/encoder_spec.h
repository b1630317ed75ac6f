// Describes an encoder: its sizes, and how its family differs from others. Does not use
// LibTorch.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bp::trainer {

// The longest sample without a table of positions: attention keeps a row of scores for each token.
inline constexpr int kMostTokens = 8192;

// The function behind the pooler's matrix.
enum class Pooling : std::uint8_t { tanh, relu, gelu };

// The function between a layer's two wide products: x times the normal distribution at x, or times
// the approximation of that by tanh ("gelu_new" in config.json).
enum class Activation : std::uint8_t { gelu, gelu_tanh };

// The buckets of distances of a relative bias.
inline constexpr int kRelativeBuckets = 32;

// The defaults are those of a BERT.
struct EncoderSpec {
  std::string family = "bert";  // 'model_type' in config.json; see family.h
  int vocabulary = 30522;
  int hidden = 128;
  int embedding = 0;  // numbers in a row of the embeddings; 0: `hidden`
  int layers = 2;
  int heads = 2;
  int intermediate = 512;
  int positions = 512;  // rows of the table of positions, without the unused first ones
  int unused_positions = 0;
  int token_types = 2;
  int pad_id = 0;
  // The first token has position pad_id + 1, and padding inside a text has position pad_id. Else
  // the first token has position 0.
  bool positions_from_pad = false;
  Pooling pooling = Pooling::tanh;
  bool drops_pooler_input = false;  // the head's dropout belongs also before the pooler
  double norm_epsilon = 1e-12;
  double hidden_dropout = 0.1;
  double attention_dropout = 0.1;
  std::optional<double> pooled_dropout = {};  // behind the pooler; none: hidden_dropout
  double initializer_range = 0.02;
  // Initial weights are drawn from a normal distribution that is cut at so many deviations, and the
  // last products of a layer have a smaller deviation: see branch_deviation(). 0: it is not cut,
  // and all products have the same deviation.
  double initializer_cutoff = 0;
  // The keys that belong to the head, which the encoder does not know, with their values as JSON:
  // {"problem_type", "\"regression\""}. No value holds lists or objects in others.
  std::map<std::string, std::string> head = {};
  // A number for each head and each bucket of distances between two tokens is added to their
  // scores, the same in all layers (relative_positions.h).
  bool relative_bias = false;
  // Attention is disentangled: queries and keys are multiplied by rows of a table for their
  // distances, too, which has this many rows for each direction (relative_positions.h). 0: it is
  // not.
  int position_buckets = 0;
  Activation activation = Activation::gelu;
  bool shares_layers = false;        // one layer's weights are those of all
  bool projects_embeddings = false;  // also where they are as wide as the layers
  // Layers norm what they read, and a last norm follows them. Products and norms have no biases.
  // Else layers norm the sums of what they read and what they compute.
  bool pre_norm = false;
  // A layer's first product has 2 * intermediate outputs: GELU of one half times the other half.
  bool gated = false;
  double intermediate_dropout = 0;  // of what a layer's second product reads
  // The bases of rotary positions, in layers that see whole texts and in local ones. 0: a table of
  // positions.
  double rope_theta = 0;
  double local_rope_theta = 0;
  std::vector<bool> local_layers = {};  // whether a layer is local; empty: none is
  int local_attention = 0;              // tokens there see those up to half of it away
  bool pools_mean = false;    // the pooler reads the mean of a text's states, not the first one
  bool pools_tokens = false;  // heads over tokens read the pooler's output for each
  // The number of layers, the last ones, that form the decoder. Its tokens are `start_id` and the
  // text's without the last one, `end_id`. Each sees those before it, and all states of the layers
  // below the decoder's. The pooler reads the last state.
  int decoder_layers = 0;
  int start_id = 0;
  int end_id = 0;
  bool scales_words = false;  // word embeddings are multiplied by the root of `hidden`
  bool operator==(const EncoderSpec&) const = default;

  [[nodiscard]] int embedding_width() const { return embedding > 0 ? embedding : hidden; }
  [[nodiscard]] bool has_projection() const {
    return projects_embeddings || embedding_width() != hidden;
  }
  // Return the deviations of the initial weights of products whose outputs are added to the states
  // of tokens, of which there are two in each layer, and of those of a classifier.
  [[nodiscard]] double branch_deviation() const {
    return initializer_cutoff == 0 ? initializer_range
                                   : initializer_range / std::sqrt(2.0 * layers);
  }
  [[nodiscard]] double classifier_deviation() const {
    return initializer_cutoff == 0 ? initializer_range : 1 / std::sqrt(1.0 * hidden);
  }
  // Returns the number of layers that have weights of their own.
  [[nodiscard]] int own_layers() const { return shares_layers ? 1 : layers; }
  // Returns whether layers share the gradient of numbers for the distances of tokens.
  [[nodiscard]] bool is_relative() const { return relative_bias || position_buckets > 0; }
  // Returns the share that a head over the pooler drops unless it has one of its own.
  [[nodiscard]] double head_dropout() const { return pooled_dropout.value_or(hidden_dropout); }
  // Returns whether the model tells the parts of a sample apart by their types.
  [[nodiscard]] bool has_types() const { return token_types > 1; }
  [[nodiscard]] bool has_decoder() const { return decoder_layers > 0; }
  [[nodiscard]] bool is_of_decoder(std::size_t layer) const {
    return layer >= static_cast<std::size_t>(layers - decoder_layers);
  }
  [[nodiscard]] bool is_local(std::size_t layer) const {
    return layer < local_layers.size() && local_layers[layer];
  }
  // Returns the number of tokens of the longest sample.
  [[nodiscard]] int max_tokens() const {
    if (rope_theta > 0) return std::min(positions, kMostTokens);
    return positions_from_pad ? positions - pad_id - 1 : positions;
  }
};

}  // namespace bp::trainer
