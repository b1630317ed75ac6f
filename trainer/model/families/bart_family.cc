#include "trainer/model/families/family.h"
#include "trainer/model/files/json_reading.h"

namespace bp::trainer {
namespace {

void take_others(Json& json, EncoderSpec& spec) {
  // The decoder has the sizes of the encoder but for the number of layers.
  always(json, "decoder_attention_heads", spec.heads);
  always(json, "decoder_ffn_dim", spec.intermediate);
  for (const char* key : {"encoder_layerdrop", "decoder_layerdrop"}) only(json, key, 0);
  spec.layers += spec.decoder_layers;
}

void put_others(const EncoderSpec& spec, Json& json) {
  json["decoder_attention_heads"] = spec.heads;
  json["decoder_ffn_dim"] = spec.intermediate;
  json["encoder_layers"] = spec.layers - spec.decoder_layers;
}

}  // namespace

const Family& bart() {
  static const Family kBart = {
      .classes = "Bart",
      .usual = {.family = "bart",
                .layers = 12,
                .positions = 1024,
                .unused_positions = 2,
                .token_types = 1,
                .pad_id = 1,
                .drops_pooler_input = true,
                .norm_epsilon = 1e-5,
                .attention_dropout = 0,
                .pooled_dropout = 0,
                .decoder_layers = 6,
                .start_id = 2,
                .end_id = 2},
      .keys = {{"vocab_size", &EncoderSpec::vocabulary, true},
               {"d_model", &EncoderSpec::hidden, true},
               {"encoder_layers", &EncoderSpec::layers, true},
               {"decoder_layers", &EncoderSpec::decoder_layers, true},
               {"encoder_attention_heads", &EncoderSpec::heads, true},
               {"encoder_ffn_dim", &EncoderSpec::intermediate, true},
               {"max_position_embeddings", &EncoderSpec::positions, true},
               {"pad_token_id", &EncoderSpec::pad_id},
               {"decoder_start_token_id", &EncoderSpec::start_id},
               {"eos_token_id", &EncoderSpec::end_id},
               {"activation_function", &EncoderSpec::activation},
               {"dropout", &EncoderSpec::hidden_dropout},
               {"attention_dropout", &EncoderSpec::attention_dropout},
               {"activation_dropout", &EncoderSpec::intermediate_dropout},
               {"classifier_dropout", &EncoderSpec::pooled_dropout},
               {"scale_embedding", &EncoderSpec::scales_words},
               {"init_std", &EncoderSpec::initializer_range}},
      .constants = {{"is_encoder_decoder", true}, {"tie_word_embeddings", true}},
      .unsupported = {"add_final_layer_norm", "normalize_before", "static_position_embeddings"},
      .take_others = take_others,
      .put_others = put_others,
      .names = {.prefix = "model.",
                .words = "shared",
                .positions = "encoder.embed_positions",
                .types = "",
                .embedding_norm = "encoder.layernorm_embedding",
                .tied_words = {"encoder.embed_tokens", "decoder.embed_tokens"},
                .layers = "encoder.layers.",
                .qkv = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
                .merged_qkv = "self_attn.qkv_proj",
                .attention_output = "self_attn.out_proj",
                .attention_norm = "self_attn_layer_norm",
                .intermediate = "fc1",
                .output = "fc2",
                .output_norm = "final_layer_norm",
                .decoder_positions = "decoder.embed_positions",
                .decoder_norm = "decoder.layernorm_embedding",
                .decoder_layers = "decoder.layers.",
                .cross_qkv = {"encoder_attn.q_proj", "encoder_attn.k_proj", "encoder_attn.v_proj"},
                .cross_output = "encoder_attn.out_proj",
                .cross_norm = "encoder_attn_layer_norm",
                .pooler = "classification_head.dense",
                .classifier = "classification_head.out_proj"}};
  return kBart;
}

}  // namespace bp::trainer
