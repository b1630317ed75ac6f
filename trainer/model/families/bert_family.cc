#include "trainer/model/families/family.h"

namespace bp::trainer {

const Family& bert() {
  static const Family kBert = {
      .classes = "Bert",
      .usual = {},
      .keys = {{"vocab_size", &EncoderSpec::vocabulary, true},
               {"hidden_size", &EncoderSpec::hidden, true},
               {"num_hidden_layers", &EncoderSpec::layers, true},
               {"num_attention_heads", &EncoderSpec::heads, true},
               {"intermediate_size", &EncoderSpec::intermediate, true},
               {"max_position_embeddings", &EncoderSpec::positions},
               {"type_vocab_size", &EncoderSpec::token_types},
               {"pad_token_id", &EncoderSpec::pad_id},
               {"layer_norm_eps", &EncoderSpec::norm_epsilon},
               {"hidden_dropout_prob", &EncoderSpec::hidden_dropout},
               {"attention_probs_dropout_prob", &EncoderSpec::attention_dropout},
               {"initializer_range", &EncoderSpec::initializer_range}},
      .constants = {{"hidden_act", "gelu"},
                    {"position_embedding_type", "absolute"},
                    {"gradient_checkpointing", false},
                    {"use_cache", true}},
      .unsupported = {},
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
