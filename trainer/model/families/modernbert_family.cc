#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/refuse.h"
#include "base/text.h"
#include "trainer/model/families/family.h"
#include "trainer/model/files/json_reading.h"

namespace bp::trainer {
namespace {

constexpr const char* kGlobal = "full_attention";
constexpr const char* kLocal = "sliding_attention";

// Older files have these keys in place of 'layer_types' and 'rope_parameters'.
constexpr const char* kGlobalEvery = "global_attn_every_n_layers";
constexpr const char* kGlobalTheta = "global_rope_theta";
constexpr const char* kLocalTheta = "local_rope_theta";

// Returns a number above 0; `usual` if it is null.
double positive(const char* key, const Json& value, double usual) {
  if (value.is_null()) return usual;
  if (!value.is_number() || !(value.get<double>() > 0)) {
    refuse(concat("'", key, "' is ", shown(value), "; it must be a number above 0"));
  }
  return value.get<double>();
}

// Every third layer sees whole texts, if the file does not say which.
std::vector<bool> local_layers_in(const Json& json, int layers) {
  constexpr std::uint64_t kUsualEvery = 3;
  const Json& types = find(json, "layer_types");
  std::vector<bool> local;
  if (types.is_null()) {
    const Json every =
        find(json, kGlobalEvery).is_null() ? Json(kUsualEvery) : find(json, kGlobalEvery);
    if (!every.is_number_unsigned() || every == 0) {
      refuse(
          concat("'", kGlobalEvery, "' is ", shown(every), "; it must be a whole number above 0"));
    }
    for (int i = 0; i < layers; ++i) local.push_back(i % every.get<std::uint64_t>() != 0);
    return local;
  }
  if (!types.is_array() || types.size() != static_cast<std::size_t>(layers)) {
    refuse(concat("'layer_types' is ", shown(types), "; it must be a list of ", layers, " texts"));
  }
  for (const Json& type : types) {
    if (type != kGlobal && type != kLocal) {
      refuse(concat("'layer_types' has ", shown(type), "; bp supports only '", kGlobal, "' and '",
                    kLocal, "'"));
    }
    local.push_back(type == kLocal);
  }
  return local;
}

[[noreturn]] void refuse_rope(const Json& value) {
  refuse(concat("'rope_parameters' has ", shown(value), "; bp supports only a rope_theta for '",
                kGlobal, "' and '", kLocal, "', of the rope_type 'default'"));
}

double theta_in(const Json& json, const char* layers, const char* old_key, double usual) {
  const Json& all = find(json, "rope_parameters");
  const Json& own = find(all, layers);
  for (const Json* const part : {&all, &own}) {
    if (!part->is_null() && !part->is_object()) refuse_rope(*part);
  }
  for (const auto& [key, value] : own.items()) {
    if (key != "rope_theta" && !(key == "rope_type" && value == "default")) refuse_rope(key);
  }
  const char* const set = find(own, "rope_theta").is_null() ? old_key : "rope_theta";
  return positive(set, find(set == old_key ? json : own, set), usual);
}

void take_others(Json& json, EncoderSpec& spec) {
  spec.local_layers = local_layers_in(json, spec.layers);
  spec.rope_theta = theta_in(json, kGlobal, kGlobalTheta, spec.rope_theta);
  spec.local_rope_theta = theta_in(json, kLocal, kLocalTheta, spec.local_rope_theta);
  for (const auto& [key, value] : find(json, "rope_parameters").items()) {
    if (key != kGlobal && key != kLocal) refuse_rope(key);
  }
  const Json& pooling = find(json, "classifier_pooling");
  if (!pooling.is_null() && pooling != "cls" && pooling != "mean") {
    refuse(concat("classifier_pooling is ", shown(pooling), "; bp supports only 'cls' and 'mean'"));
  }
  spec.pools_mean = pooling == "mean";
  for (const char* old_key : {kGlobalEvery, kGlobalTheta, kLocalTheta}) json.erase(old_key);
}

void put_others(const EncoderSpec& spec, Json& json) {
  json["classifier_pooling"] = spec.pools_mean ? "mean" : "cls";
  for (const bool local : spec.local_layers) {  // a new model has none yet
    json["layer_types"].push_back(local ? kLocal : kGlobal);
  }
  json["rope_parameters"] = {
      {kGlobal, {{"rope_theta", spec.rope_theta}, {"rope_type", "default"}}},
      {kLocal, {{"rope_theta", spec.local_rope_theta}, {"rope_type", "default"}}}};
}

}  // namespace

const Family& modernbert() {
  static const Family kModernBert = {
      .classes = "ModernBert",
      .usual = {.family = "modernbert",
                .positions = 8192,
                .token_types = 1,
                .pad_id = 50283,
                .pooling = Pooling::gelu,
                .norm_epsilon = 1e-5,
                .hidden_dropout = 0,
                .attention_dropout = 0,
                .pooled_dropout = 0,
                .initializer_cutoff = 2,
                .pre_norm = true,
                .gated = true,
                .rope_theta = 160000,
                .local_rope_theta = 10000,
                .local_attention = 128,
                .pools_tokens = true},
      .keys = {{"vocab_size", &EncoderSpec::vocabulary, true},
               {"hidden_size", &EncoderSpec::hidden, true},
               {"num_hidden_layers", &EncoderSpec::layers, true},
               {"num_attention_heads", &EncoderSpec::heads, true},
               {"intermediate_size", &EncoderSpec::intermediate, true},
               {"max_position_embeddings", &EncoderSpec::positions},
               {"pad_token_id", &EncoderSpec::pad_id},
               {"norm_eps", &EncoderSpec::norm_epsilon},
               {"local_attention", &EncoderSpec::local_attention},
               {"embedding_dropout", &EncoderSpec::hidden_dropout},
               {"attention_dropout", &EncoderSpec::attention_dropout},
               {"mlp_dropout", &EncoderSpec::intermediate_dropout},
               {"classifier_dropout", &EncoderSpec::pooled_dropout},
               {"initializer_range", &EncoderSpec::initializer_range},
               {"initializer_cutoff_factor", &EncoderSpec::initializer_cutoff}},
      .constants = {{"hidden_activation", "gelu"}, {"classifier_activation", "gelu"}},
      .unsupported = {"attention_bias", "mlp_bias", "norm_bias", "classifier_bias", "rope_scaling"},
      .take_others = take_others,
      .put_others = put_others,
      .names = {.prefix = "model.",
                .words = "embeddings.tok_embeddings",
                .positions = "",
                .types = "",
                .embedding_norm = "embeddings.norm",
                .layers = "layers.",
                .qkv = {"attn.Wqkv"},
                .merged_qkv = "attn.Wqkv",
                .attention_output = "attn.Wo",
                .attention_norm = "attn_norm",
                .intermediate = "mlp.Wi",
                .output = "mlp.Wo",
                .output_norm = "mlp_norm",
                .final_norm = "final_norm",
                .pooler = "head.dense",
                .pooler_norm = "head.norm",
                .masked_decoder = "decoder",
                .masked_bias = "decoder.bias"},
  };
  return kModernBert;
}

}  // namespace bp::trainer
