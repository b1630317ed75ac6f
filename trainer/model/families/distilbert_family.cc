#include "trainer/model/families/family.h"

namespace bp::trainer {

const Family& distilbert() {
  static const Family kDistilBert = {
      .classes = "DistilBert",
      .usual = {.family = "distilbert",
                .token_types = 1,
                .pooling = Pooling::relu,
                .pooled_dropout = 0.2},
      .keys = {{"vocab_size", &EncoderSpec::vocabulary, true},
               {"dim", &EncoderSpec::hidden, true},
               {"n_layers", &EncoderSpec::layers, true},
               {"n_heads", &EncoderSpec::heads, true},
               {"hidden_dim", &EncoderSpec::intermediate, true},
               {"max_position_embeddings", &EncoderSpec::positions},
               {"pad_token_id", &EncoderSpec::pad_id},
               {"dropout", &EncoderSpec::hidden_dropout},
               {"attention_dropout", &EncoderSpec::attention_dropout},
               {"seq_classif_dropout", &EncoderSpec::pooled_dropout},
               {"initializer_range", &EncoderSpec::initializer_range}},
      // transformers does not train sinusoidal positions.
      .constants = {{"activation", "gelu"}, {"sinusoidal_pos_embds", false}},
      .names = {.prefix = "distilbert.",
                .types = "",
                .layers = "transformer.layer.",
                .qkv = {"attention.q_lin", "attention.k_lin", "attention.v_lin"},
                .merged_qkv = "attention.qkv_lin",
                .attention_output = "attention.out_lin",
                .attention_norm = "sa_layer_norm",
                .intermediate = "ffn.lin1",
                .output = "ffn.lin2",
                .output_norm = "output_layer_norm",
                .pooler = "pre_classifier",
                .masked_dense = "vocab_transform",
                .masked_norm = "vocab_layer_norm",
                .masked_decoder = "vocab_projector",
                .masked_bias = "vocab_projector.bias"}};
  return kDistilBert;
}

}  // namespace bp::trainer
