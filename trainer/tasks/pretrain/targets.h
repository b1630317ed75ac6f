// What a model that is pre-trained predicts for a batch: the tokens that were masked, and whether
// the second segment of each sample followed the first one.
#pragma once

#include <cstdint>
#include <vector>

namespace bp::trainer {

struct PretrainTargets {
  std::vector<std::int32_t> masked = {};         // [rows], how many masked tokens each sample has
  std::vector<std::int64_t> positions = {};      // of these tokens in their samples, row after row
  std::vector<std::int64_t> ids = {};            // what these tokens were
  std::vector<std::int64_t> next_sentence = {};  // [rows], 0: it followed; 1: it did not
  // Masked tokens per sample in the whole step, of all ranks and micro-batches; 0: those of this
  // batch. See pretrain_head.h for what it decides.
  double masked_per_sample = 0;
};

}  // namespace bp::trainer
