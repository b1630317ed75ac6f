// The heads that BERT is pre-trained with: a masked language model, and with it, if wanted, the
// prediction whether the second segment followed the first one. They compute the same as
// transformers' BertForMaskedLM and BertForPreTraining.
//
// Only the states of masked tokens go through the transform and the product with the vocabulary,
// which is the most expensive product of a small model. The product's weight is that of the word
// embeddings.
//
// The outputs are [things, 2]: the loss of each thing, and the id that the model finds most likely.
// The things are the masked tokens, row after row, and then with the second head the samples.
//
// The loss of BertForMaskedLM is the mean over the masked tokens, which are its weight. The loss of
// BertForPreTraining is the sum of two means, over the masked tokens and over the samples, but a
// Loss has one weight. The weight here is the number of samples, and the loss of a batch is
//
//   (sum of the samples' losses + sum of the masked tokens' losses / masked_per_sample) / samples
//
// So the mean over batches by their weights is the same for any division of the samples among
// ranks and micro-batches, if all of them use one number masked_per_sample. It is transformers'
// loss of all these samples at once if that number is exactly theirs.
#pragma once

#include <functional>
#include <memory>

#include "trainer/model/head.h"
#include "trainer/tasks/pretrain/targets.h"

namespace bp::trainer {

// Finds the targets in a batch.
using ReadTargets = std::function<PretrainTargets(const Batch& batch)>;

// The heads' forward() throws invalid_argument if a target is outside its sample or the vocabulary,
// or if a sample is neither 0 nor 1 in `next_sentence`.
[[nodiscard]] std::unique_ptr<Head> make_masked_head(const BertConfig& config,
                                                     Parameters& parameters,
                                                     const ReadTargets& read_targets);
[[nodiscard]] std::unique_ptr<Head> make_pretrain_head(const BertConfig& config,
                                                       Parameters& parameters,
                                                       const ReadTargets& read_targets);

}  // namespace bp::trainer
