// RoBERTa, and the families whose models are of its shape.
#include "trainer/model/families/family.h"

namespace bp::trainer {
namespace {

// Their classes have the attribute `roberta` whatever they are called. The defaults of transformers
// are not the numbers of the published models, so a config.json must say them.
Family shaped_as_roberta(const char* model_type, const char* classes) {
  return {.classes = classes,
          .usual = {.family = model_type, .positions_from_pad = true, .drops_pooler_input = true},
          .keys = bert_keys(true),
          .constants = bert().constants,
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
