// The head of a model that gives each sample a number: dropout and a linear layer over the pooler's
// output. It computes the same as transformers' BertForSequenceClassification with one label and
// the problem type "regression".
#pragma once

#include <memory>

#include "trainer/model/head.h"

namespace bp::trainer {

// Its outputs are the numbers, [rows, 1], in the deviations of the configuration's TargetScale
// above its mean. Its loss is their mean squared error from the batch's array kTargetArray, and the
// number of samples the weight. As ONNX, the outputs are targets.
[[nodiscard]] std::unique_ptr<Head> make_regress_head(const EncoderSpec& config,
                                                      Parameters& parameters);

}  // namespace bp::trainer
