#include "trainer/model/families/family.h"

namespace bp::trainer {

// Behind a layer's last product there is dropout, as in Lan et al. 2020; transformers has none.
const Family& albert() {
  static const Family kAlbert = {
      .classes = "Albert",
      .usual = {.family = "albert",
                .embedding = 128,
                .hidden_dropout = 0,
                .attention_dropout = 0,
                .pooled_dropout = 0.1,
                .activation = Activation::gelu_tanh,
                .shares_layers = true,
                .projects_embeddings = true},
      .keys = bert_keys(false, {{"embedding_size", &EncoderSpec::embedding, true},
                                {"hidden_act", &EncoderSpec::activation},
                                {"classifier_dropout_prob", &EncoderSpec::pooled_dropout}}),
      .constants = {{"position_embedding_type", "absolute"},
                    {"num_hidden_groups", 1},
                    {"inner_group_num", 1}},
      .names = {.prefix = "albert.",
                .projection = "encoder.embedding_hidden_mapping_in",
                .layers = "encoder.albert_layer_groups.0.albert_layers.",
                .qkv = {"attention.query", "attention.key", "attention.value"},
                .merged_qkv = "attention.qkv",
                .attention_output = "attention.dense",
                .attention_norm = "attention.LayerNorm",
                .intermediate = "ffn",
                .output = "ffn_output",
                .output_norm = "full_layer_layer_norm",
                .pooler = "albert.pooler",
                .masked_dense = "predictions.dense",
                .masked_norm = "predictions.LayerNorm",
                .masked_decoder = "predictions.decoder",
                .masked_bias = "predictions.bias"}};
  return kAlbert;
}

}  // namespace bp::trainer
