// The head of a model that gives each token a tag: dropout and a linear layer over the last layer's
// states. It computes the same as transformers' BertForTokenClassification.
#pragma once

#include <memory>

#include "trainer/model/head.h"

namespace bp::trainer {

// The tags are the labels of the configuration. The batch's array kTargetsArray, [rows, length],
// has a tag or kIgnoredTarget for each token.
//
// Its outputs are logits, [tokens, tags], sample after sample without padding. Its loss is the mean
// cross entropy over the tokens that have a tag, and their number the weight. Without any such
// token the loss, its gradients and the weight are 0.
//
// Throws invalid_argument if there is no tag.
[[nodiscard]] std::unique_ptr<Head> make_token_head(const EncoderSpec& config,
                                                    Parameters& parameters);

}  // namespace bp::trainer
