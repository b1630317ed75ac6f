// The head of a model that gives each sample a label, or several: dropout and a linear layer over
// the pooler's output. It computes the same as transformers' BertForSequenceClassification.
#pragma once

#include <memory>
#include <vector>

#include "trainer/model/head.h"
#include "trainer/tasks/classify/class_input.h"

namespace bp::trainer {

class Bert;

// Its outputs are logits, [rows, labels]. A call throws invalid_argument if the configuration names
// no labels.
[[nodiscard]] HeadMaker classifier_head(const ClassLossOptions& loss);
// The same with the mean cross entropy as its loss.
[[nodiscard]] std::unique_ptr<Head> make_classifier_head(const EncoderSpec& config,
                                                         Parameters& parameters);

// Reorders the classifier's outputs in place: output i becomes the one that was from[i].
void order_outputs(Bert& model, const std::vector<int>& from);

}  // namespace bp::trainer
