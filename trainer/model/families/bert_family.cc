#include "trainer/model/families/family.h"

namespace bp::trainer {

std::vector<ConfigKey> bert_keys(bool all_sizes, const std::vector<ConfigKey>& more) {
  std::vector<ConfigKey> keys = {{"vocab_size", &EncoderSpec::vocabulary, true},
                                 {"hidden_size", &EncoderSpec::hidden, true},
                                 {"num_hidden_layers", &EncoderSpec::layers, true},
                                 {"num_attention_heads", &EncoderSpec::heads, true},
                                 {"intermediate_size", &EncoderSpec::intermediate, true},
                                 {"max_position_embeddings", &EncoderSpec::positions, all_sizes},
                                 {"type_vocab_size", &EncoderSpec::token_types, all_sizes},
                                 {"pad_token_id", &EncoderSpec::pad_id, all_sizes},
                                 {"layer_norm_eps", &EncoderSpec::norm_epsilon, all_sizes},
                                 {"hidden_dropout_prob", &EncoderSpec::hidden_dropout},
                                 {"attention_probs_dropout_prob", &EncoderSpec::attention_dropout},
                                 {"initializer_range", &EncoderSpec::initializer_range}};
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

const Family& bert() {
  using Check = ConstantKey::Check;
  static const Family kBert = {.classes = "Bert",
                               .keys = bert_keys(),
                               .constants = {{"hidden_act", "gelu"},
                                             {"position_embedding_type", "absolute"},
                                             {"gradient_checkpointing", false, Check::never},
                                             {"use_cache", true, Check::never}},
                               .names = {.prefix = "bert.",
                                         .pooler = "bert.pooler.dense",
                                         .masked_dense = "cls.predictions.transform.dense",
                                         .masked_norm = "cls.predictions.transform.LayerNorm",
                                         .masked_decoder = "cls.predictions.decoder",
                                         .masked_bias = "cls.predictions.bias",
                                         .next_sentence = "cls.seq_relationship"}};
  return kBert;
}

}  // namespace bp::trainer
