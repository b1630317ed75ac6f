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

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "trainer/model/head.h"

namespace bp::trainer {

// What a model that is pre-trained predicts for a batch: the tokens that were masked, and whether
// the second segment of each sample followed the first one.
struct PretrainTargets {
  std::vector<std::int32_t> masked = {};         // [rows], how many masked tokens each sample has
  std::vector<std::int64_t> positions = {};      // of these tokens in their samples, row after row
  std::vector<std::int64_t> ids = {};            // what these tokens were
  std::vector<std::int64_t> next_sentence = {};  // [rows], 0: it followed; 1: it did not
  // Masked tokens per sample in the whole step, of all ranks and micro-batches; 0: those of this
  // batch. See above for what it decides.
  double masked_per_sample = 0;
};

// Finds the targets in a batch.
using ReadTargets = std::function<PretrainTargets(const Batch& batch)>;

// Returns the second head `with_next_sentence`, else the first. Their forward() throws
// invalid_argument if a target is outside its sample or the vocabulary, or if a sample is neither 0
// nor 1 in `next_sentence`.
[[nodiscard]] std::unique_ptr<Head> make_pretrain_head(const EncoderSpec& config,
                                                       Parameters& parameters,
                                                       const ReadTargets& read_targets,
                                                       bool with_next_sentence);

}  // namespace bp::trainer
