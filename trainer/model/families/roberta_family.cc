// RoBERTa, and the families whose models are of its shape.
#include "trainer/model/families/family.h"

namespace bp::trainer {
namespace {

// Their classes have the attribute `roberta` whatever they are called. The defaults of transformers
// are not the numbers of the published models, so a config.json must say them.
Family shaped_as_roberta(const char* model_type, const char* classes) {
  return {.classes = classes,
          .usual = {.family = model_type, .positions_from_pad = true, .drops_pooler_input = true},
          .keys = {{"vocab_size", &EncoderSpec::vocabulary, true},
                   {"hidden_size", &EncoderSpec::hidden, true},
                   {"num_hidden_layers", &EncoderSpec::layers, true},
                   {"num_attention_heads", &EncoderSpec::heads, true},
                   {"intermediate_size", &EncoderSpec::intermediate, true},
                   {"max_position_embeddings", &EncoderSpec::positions, true},
                   {"type_vocab_size", &EncoderSpec::token_types, true},
                   {"pad_token_id", &EncoderSpec::pad_id, true},
                   {"layer_norm_eps", &EncoderSpec::norm_epsilon, true},
                   {"hidden_dropout_prob", &EncoderSpec::hidden_dropout},
                   {"attention_probs_dropout_prob", &EncoderSpec::attention_dropout},
                   {"initializer_range", &EncoderSpec::initializer_range}},
          .constants = bert().constants,
          .unsupported = {},
          .names = {.prefix = "roberta.",
                    .pooler = "classifier.dense",
                    .classifier = "classifier.out_proj",
                    .masked_dense = "lm_head.dense",
                    .masked_norm = "lm_head.layer_norm",
                    .masked_decoder = "lm_head.decoder",
                    .masked_bias = "lm_head.bias"}};
}

}  // namespace

const Family& roberta() {
  static const Family kRoberta = shaped_as_roberta("roberta", "Roberta");
  return kRoberta;
}

const Family& camembert() {
  static const Family kCamembert = shaped_as_roberta("camembert", "Camembert");
  return kCamembert;
}

const Family& xlm_roberta() {
  static const Family kXlmRoberta = shaped_as_roberta("xlm-roberta", "XLMRoberta");
  return kXlmRoberta;
}

}  // namespace bp::trainer
