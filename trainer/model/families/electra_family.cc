#include "trainer/model/families/family.h"

namespace bp::trainer {

const Family& electra() {
  static const Family kElectra = {
      .classes = "Electra",
      .usual = {.family = "electra", .pooling = Pooling::gelu, .drops_pooler_input = true},
      .keys = bert_keys(false, {{"embedding_size", &EncoderSpec::embedding, true}}),
      .constants = bert().constants,
      .names = {.prefix = "electra.",
                .projection = "embeddings_project",
                .pooler = "classifier.dense",
                .classifier = "classifier.out_proj",
                .masked_dense = "generator_predictions.dense",
                .masked_norm = "generator_predictions.LayerNorm",
                .masked_decoder = "generator_lm_head",
                .masked_bias = "generator_lm_head.bias"}};
  return kElectra;
}

}  // namespace bp::trainer
