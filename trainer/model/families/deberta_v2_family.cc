#include "base/refuse.h"
#include "base/text.h"
#include "trainer/model/families/family.h"
#include "trainer/model/files/json_reading.h"

namespace bp::trainer {
namespace {

constexpr const char* kTerms = "pos_att_type";
constexpr const char* kFarthest = "max_relative_positions";

// Older files have a text.
bool has_both_terms(const Json& terms) {
  return terms == Json({"p2c", "c2p"}) || terms == Json({"c2p", "p2c"}) || terms == "p2c|c2p" ||
         terms == "c2p|p2c";
}

void take_attention(Json& json, EncoderSpec& spec) {
  if (const Json& terms = find(json, kTerms); !has_both_terms(terms)) {
    refuse(concat(kTerms, " is ", shown(terms), "; bp supports only 'p2c' and 'c2p' together"));
  }
  // A number below 1 stands for max_position_embeddings.
  if (json.value(kFarthest, Json()) >= 1) only(json, kFarthest, spec.positions);
  for (const char* key : {"pooler_hidden_size", "embedding_size"}) only(json, key, spec.hidden);
  only(json, "attention_head_size", spec.hidden / spec.heads);
}

void put_attention(const EncoderSpec& spec, Json& json) {
  json[kTerms] = {"p2c", "c2p"};
  json[kFarthest] = -1;
  json["pooler_hidden_size"] = spec.hidden;
}

}  // namespace

// Version 3 has the same model, and other weights and words.
const Family& deberta_v2() {
  using Check = ConstantKey::Check;
  static const Family kDeberta = [] {
    Family family = {
        .classes = "DebertaV2",
        .usual = {.family = "deberta-v2",
                  .token_types = 1,
                  .pooling = Pooling::gelu,
                  .norm_epsilon = 1e-7,
                  .position_buckets = 256},
        .keys =
            without(bert_keys(false, {{"position_buckets", &EncoderSpec::position_buckets, true},
                                      {"cls_dropout", &EncoderSpec::pooled_dropout}}),
                    &EncoderSpec::token_types),
        .constants = {{"hidden_act", "gelu"},
                      {"pooler_hidden_act", "gelu"},
                      {"pooler_dropout", 0},
                      {"type_vocab_size", 0},
                      {"conv_kernel_size", 0},
                      {"legacy", true},
                      // Without these keys transformers makes another model.
                      {"relative_attention", true, Check::always},
                      {"position_biased_input", false, Check::always},
                      {"share_att_key", true, Check::always},
                      {"norm_rel_ebd", "layer_norm", Check::always}},
        .take_others = take_attention,
        .put_others = put_attention,
        .names = bert().names};
    WeightNames& names = family.names;
    names.prefix = "deberta.";
    names.positions = "";
    names.types = "";
    names.relative = "encoder.rel_embeddings";
    names.relative_norm = "encoder.LayerNorm";
    names.qkv = {"attention.self.query_proj", "attention.self.key_proj",
                 "attention.self.value_proj"};
    names.merged_qkv = "attention.self.qkv_proj";
    names.pooler = "pooler.dense";
    names.next_sentence = "";
    return family;
  }();
  return kDeberta;
}

}  // namespace bp::trainer
