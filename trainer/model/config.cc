#include "trainer/model/config.h"

#include <algorithm>
#include <cmath>

#include "base/refuse.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/model/kernels/kernels.h"

namespace bp::trainer {
namespace {

constexpr double kMaxParameters = 0x1p33;

// The number of weights and biases, without the head's. In floating point, because the sizes in a
// file may be anything.
double parameters_of(const BertConfig& c) {
  const double hidden = c.hidden;
  const double layer =
      4 * hidden * hidden + 2 * hidden * c.intermediate + 9 * hidden + c.intermediate;
  const double embeddings = double{2} + c.vocabulary + c.positions + c.token_types;
  const double pooler = (hidden + 1) * hidden;
  return embeddings * hidden + c.layers * layer + pooler;
}

}  // namespace

const std::vector<std::string>& preset_names() {
  static const std::vector<std::string> kNames = {"tiny",   "mini", "small",
                                                  "medium", "base", "large"};
  return kNames;
}

std::optional<BertConfig> preset(std::string_view name) {
  struct Shape {
    int layers;
    int hidden;
  };
  constexpr Shape kShapes[] = {{2, 128}, {4, 256}, {4, 512}, {8, 512}, {12, 768}, {24, 1024}};
  for (std::size_t i = 0; i < preset_names().size(); ++i) {
    if (preset_names()[i] != name) continue;
    BertConfig config;
    config.layers = kShapes[i].layers;
    config.hidden = kShapes[i].hidden;
    config.heads = config.hidden / 64;
    config.intermediate = 4 * config.hidden;
    config.initializer_range = initial_deviation(config.hidden);
    return config;
  }
  return std::nullopt;
}

// BERT's 0.02 is for the base model: a narrower product needs larger weights to keep its gain.
double initial_deviation(int hidden) {
  return BertConfig().initializer_range * std::sqrt(std::max(1.0, 768.0 / hidden));
}

void check(const BertConfig& c) {
  const auto positive = [](int value, const char* name) {
    if (value < 1) refuse(concat(name, " is ", value, "; it must be at least 1"));
  };
  positive(c.vocabulary, "vocab_size");
  positive(c.hidden, "hidden_size");
  positive(c.layers, "num_hidden_layers");
  positive(c.heads, "num_attention_heads");
  positive(c.intermediate, "intermediate_size");
  positive(c.positions, "max_position_embeddings");
  positive(c.token_types, "type_vocab_size");
  const auto narrow = [](int value, const char* name) {
    if (value > kernels::kMaxRow) {
      refuse(concat(name, " is ", value, "; the largest that bp supports is ", kernels::kMaxRow));
    }
  };
  narrow(c.hidden, "hidden_size");
  narrow(c.positions, "max_position_embeddings");
  if (c.hidden % c.heads != 0) {
    refuse(concat("hidden_size ", c.hidden, " is not a multiple of num_attention_heads ", c.heads));
  }
  if (c.pad_id < 0 || c.pad_id >= c.vocabulary) {
    refuse(concat("pad_token_id ", c.pad_id, " is outside the vocabulary of ", c.vocabulary));
  }
  const auto share = [](double value, const char* name) {
    if (!(value >= 0 && value < 1)) {
      refuse(concat(name, " is ", value, "; it must be at least 0 and below 1"));
    }
  };
  share(c.hidden_dropout, "hidden_dropout_prob");
  share(c.attention_dropout, "attention_probs_dropout_prob");
  if (!(c.norm_epsilon > 0)) {
    refuse(concat("layer_norm_eps is ", c.norm_epsilon, "; it must be above 0"));
  }
  if (!(c.initializer_range >= 0)) {
    refuse(concat("initializer_range is ", c.initializer_range, "; it must be at least 0"));
  }
  if (const double count = parameters_of(c); count > kMaxParameters) {
    refuse(concat("its shape has ", count, " parameters; the largest number that bp supports is ",
                  kMaxParameters));
  }
}

}  // namespace bp::trainer
