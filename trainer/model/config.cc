#include "trainer/model/config.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/refuse.h"
#include "base/text.h"
#include "trainer/model/families/family.h"
#include "trainer/model/files/json_reading.h"
#include "trainer/model/kernels/kernels.h"

namespace bp::trainer {
namespace {

constexpr double kMaxParameters = 0x1p33;
constexpr int kPresetHead = 64;    // numbers of a head
constexpr int kMostLayers = 4096;  // each has numbers of its own for dropout

// The number of weights and biases, without the head's. In floating point, because the sizes in a
// file may be anything.
double parameters_of(const EncoderSpec& c) {
  const double hidden = c.hidden;
  const double width = c.embedding_width();
  const double factors = c.gated ? 3 : 2;  // of the intermediate size
  const double layer =
      4 * hidden * hidden + factors * hidden * c.intermediate + 9 * hidden + c.intermediate;
  const double cross = c.decoder_layers * (4 * hidden * hidden + 6 * hidden);
  const double positions = (c.rope_theta > 0 ? 0.0 : c.positions) * (c.has_decoder() ? 2 : 1);
  const double embeddings = 2 + positions + c.vocabulary + c.token_types;
  const double pooler = (hidden + 1) * hidden;
  const double distances =
      c.relative_bias ? double{kRelativeBuckets} * c.heads : 2 * hidden * c.position_buckets;
  return embeddings * width + c.own_layers() * layer + cross + pooler + distances;
}

static_assert(kMostTokens == kernels::kMaxRow);

}  // namespace

EncoderSpec new_encoder(int layers, int hidden, std::string_view family) {
  const Family* const found = find_family(family);
  BP_CHECK(found != nullptr, "an option only has names of families");
  EncoderSpec spec = found->usual;
  spec.layers = layers;
  spec.hidden = hidden;
  spec.heads = hidden / kPresetHead;
  // As in ModernBERT-base, where a layer has three wide products.
  spec.intermediate = spec.gated ? hidden + hidden / 2 : 4 * hidden;
  if (spec.embedding == 0 && !key_of(spec, &EncoderSpec::embedding).empty()) {
    spec.embedding = hidden;
  }
  spec.pad_id = spec.positions_from_pad ? 1 : 0;
  if (spec.positions_from_pad) spec.positions += spec.pad_id + 1;
  spec.initializer_range = initial_deviation(hidden);
  if (spec.has_decoder()) spec.decoder_layers = layers / 2;
  Json others = Json::object();
  if (found->put_others != nullptr) found->put_others(spec, others);
  spec.layers -= spec.decoder_layers;  // as in config.json
  if (found->take_others != nullptr) found->take_others(others, spec);
  return spec;
}

const std::vector<std::string>& preset_names() {
  static const std::vector<std::string> kNames = {"tiny",   "mini", "small",
                                                  "medium", "base", "large"};
  return kNames;
}

std::optional<EncoderSpec> preset(std::string_view name, std::string_view family) {
  struct Shape {
    int layers;
    int hidden;
  };
  constexpr Shape kShapes[] = {{2, 128}, {4, 256}, {4, 512}, {8, 512}, {12, 768}, {24, 1024}};
  const auto found = std::ranges::find(preset_names(), name);
  if (found == preset_names().end()) return std::nullopt;
  const Shape& shape = kShapes[found - preset_names().begin()];
  return new_encoder(shape.layers, shape.hidden, family);
}

// BERT's 0.02 is for the base model: a narrower product needs larger weights to keep its gain.
double initial_deviation(int hidden) {
  return EncoderSpec().initializer_range * std::sqrt(std::max(1.0, 768.0 / hidden));
}

void check(const EncoderSpec& c) {
  const auto has_key = [&](const ConfigKey::Member& member) { return !key_of(c, member).empty(); };
  const auto refuse_key = [&](auto member, auto what) {
    refuse(concat(key_of(c, member), " is ", c.*member, what));
  };
  for (int EncoderSpec::*size :
       {&EncoderSpec::vocabulary, &EncoderSpec::hidden, &EncoderSpec::layers, &EncoderSpec::heads,
        &EncoderSpec::intermediate, &EncoderSpec::positions, &EncoderSpec::token_types,
        &EncoderSpec::embedding, &EncoderSpec::decoder_layers, &EncoderSpec::local_attention,
        &EncoderSpec::position_buckets}) {
    const int least = size == &EncoderSpec::position_buckets ? 2 : 1;
    if (has_key(size) && c.*size < least) refuse_key(size, concat("; it must be at least ", least));
  }
  // A decoder's layer has as many numbers as two others.
  if (const int most = c.has_decoder() ? kMostLayers / 2 : kMostLayers; c.layers > most) {
    refuse_key(&EncoderSpec::layers, concat("; the largest that bp supports is ", most));
  }
  for (int EncoderSpec::*width :
       {&EncoderSpec::hidden, &EncoderSpec::embedding, &EncoderSpec::positions}) {
    const bool is_table = width != &EncoderSpec::positions || c.rope_theta == 0;
    if (is_table && c.*width > kernels::kMaxRow) {
      refuse_key(width, concat("; the largest that bp supports is ", kernels::kMaxRow));
    }
  }
  if (c.max_tokens() < 1) {
    refuse_key(&EncoderSpec::positions, concat("; positions begin after pad_token_id ", c.pad_id));
  }
  if (c.hidden % c.heads != 0) {
    refuse(concat(key_of(c, &EncoderSpec::hidden), " ", c.hidden, " is not a multiple of ",
                  key_of(c, &EncoderSpec::heads), " ", c.heads));
  }
  if (const int size = c.hidden / c.heads; c.rope_theta > 0 && size % 2 != 0) {
    refuse(concat("a head has ", size, " numbers; rotary positions need an even number"));
  }
  if (c.pad_id < 0 || c.pad_id >= c.vocabulary) {
    refuse(concat("pad_token_id ", c.pad_id, " is outside the vocabulary of ", c.vocabulary));
  }
  for (int EncoderSpec::*id : {&EncoderSpec::start_id, &EncoderSpec::end_id}) {
    if (c.*id < 0 || c.*id >= c.vocabulary) {
      refuse_key(id, concat(", outside the vocabulary of ", c.vocabulary));
    }
  }
  const auto check_share = [&](const ConfigKey::Member& member, double share) {
    if (!has_key(member) || (share >= 0 && share < 1)) return;
    refuse(concat(key_of(c, member), " is ", share, "; it must be at least 0 and below 1"));
  };
  check_share(&EncoderSpec::hidden_dropout, c.hidden_dropout);
  check_share(&EncoderSpec::attention_dropout, c.attention_dropout);
  check_share(&EncoderSpec::intermediate_dropout, c.intermediate_dropout);
  check_share(&EncoderSpec::pooled_dropout, c.head_dropout());
  if (c.intermediate_dropout > 0 && c.intermediate > kernels::kMaxRow) {
    refuse_key(&EncoderSpec::intermediate,
               concat("; with ", key_of(c, &EncoderSpec::intermediate_dropout),
                      " the largest that bp supports is ", kernels::kMaxRow));
  }
  if (!(c.norm_epsilon > 0)) refuse_key(&EncoderSpec::norm_epsilon, "; it must be above 0");
  for (double EncoderSpec::*width :
       {&EncoderSpec::initializer_range, &EncoderSpec::initializer_cutoff}) {
    if (!(c.*width >= 0)) refuse_key(width, "; it must be at least 0");
  }
  if (const double count = parameters_of(c); count > kMaxParameters) {
    refuse(concat("its shape has ", count, " parameters; the largest number that bp supports is ",
                  kMaxParameters));
  }
}

}  // namespace bp::trainer
