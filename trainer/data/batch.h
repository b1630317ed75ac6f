// Samples as one array, padded to the longest of them: the input of the model. This code does not
// use LibTorch; the trainer wraps the arrays as tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/data/sample_store.h"

namespace bp::trainer {

struct Batch {
  int rows = 0;
  int length = 0;                         // columns; 0 when rows is 0
  std::vector<std::int64_t> token_ids;    // [rows, length], padded with pad_id
  std::vector<std::int32_t> lengths;      // [rows], the number of tokens without padding
  std::vector<std::int64_t> labels;       // [rows]
  std::vector<std::int64_t> sample_ids;   // [rows]
  std::vector<std::int64_t> text_ids;     // [rows]
  std::vector<std::int64_t> token_types;  // [rows, length], or empty: all 0
};

// Makes a batch. Pads to the longest sample, rounded up to a multiple of `multiple`, but not beyond
// `max_length` (0: no bound).
[[nodiscard]] Batch make_batch(const std::vector<Sample>& samples,
                               std::int32_t pad_id,
                               int multiple = 1,
                               int max_length = 0);

}  // namespace bp::trainer
