// The head of a model that gives each sample a number: dropout and a linear layer over the pooler's
// output. It computes the same as transformers' BertForSequenceClassification with one label and
// the problem type "regression".
#pragma once

#include <optional>

#include "trainer/model/head.h"
#include "trainer/tasks/batch_values.h"
#include "trainer/tasks/regress/target_scale.h"

namespace bp::trainer {

struct RegressHeadOptions {
  std::optional<double> dropout = {};  // nothing: the encoder's
  BatchReals targets = {};             // [rows]
  TargetScale scale = {};
};

// Its outputs are the numbers, [rows, 1], in the scale's deviations above its mean. Its loss is
// their mean squared error, and the number of samples the weight. As ONNX, the outputs are targets.
[[nodiscard]] HeadMaker regress_head(const RegressHeadOptions& options);

}  // namespace bp::trainer
