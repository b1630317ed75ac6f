// The head of a model that gives each sample a number: dropout and a linear layer over the pooler's
// output. It computes the same as transformers' BertForSequenceClassification with one label and
// the problem type "regression".
#pragma once

#include <optional>

#include "trainer/model/head.h"
#include "trainer/tasks/batch_values.h"

namespace bp::trainer {

struct RegressHeadOptions {
  std::optional<double> dropout = {};  // nothing: the encoder's
  BatchReals targets = {};             // [rows]
};

// Its outputs are the numbers, [rows, 1]. Its loss is the mean squared error, and the number of
// samples the weight.
[[nodiscard]] HeadMaker regress_head(const RegressHeadOptions& options);

}  // namespace bp::trainer
