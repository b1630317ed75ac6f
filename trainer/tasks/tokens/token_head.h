// The head of a model that gives each token a tag: dropout and a linear layer over the last layer's
// states. It computes the same as transformers' BertForTokenClassification.
#pragma once

#include <optional>

#include "trainer/model/head.h"
#include "trainer/tasks/batch_values.h"

namespace bp::trainer {

struct TokenHeadOptions {
  int tags = 0;                        // how many there are
  std::optional<double> dropout = {};  // nothing: the encoder's
  BatchIntegers targets = {};          // [rows, length]: a tag or kIgnoredTarget for each token
};

// Its outputs are logits, [tokens, tags], sample after sample without padding. Its loss is the mean
// cross entropy over the tokens that have a tag, and their number the weight. Without any such
// token the loss, its gradients and the weight are 0.
//
// Throws invalid_argument if there is no tag.
[[nodiscard]] HeadMaker token_head(const TokenHeadOptions& options);

}  // namespace bp::trainer
