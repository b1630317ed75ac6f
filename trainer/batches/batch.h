// Samples as one array, padded to the longest of them: the input of the model. This code does not
// use LibTorch; the trainer wraps the arrays as tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "trainer/store/sample_store.h"

namespace bp::trainer {

// An array of the samples' schema.
struct BatchArray {
  int width = 1;  // values per row: 1; one for each token; or as many as the longest row has
  std::vector<std::int64_t> integers = {};  // [rows, width], padded
  std::vector<double> reals = {};           // [rows, width], padded; empty if it holds integers
  std::vector<std::int32_t> sizes = {};     // of a ragged array: [rows], the number without padding
};

struct Batch {
  int rows = 0;
  int length = 0;                              // columns; 0 when rows is 0
  bool is_filler = false;                      // other ranks' samples, which do not count here
  std::vector<std::int64_t> token_ids;         // [rows, length], padded with pad_id
  std::vector<std::int32_t> lengths;           // [rows], the number of tokens without padding
  std::vector<std::int64_t> sample_ids;        // [rows]
  std::vector<std::int64_t> text_ids;          // [rows]
  std::vector<std::int64_t> token_types = {};  // [rows, length], or empty: all 0
  std::vector<BatchArray> arrays = {};         // in the order of the schema
};

// What decides the random choices in a batch, besides its samples.
struct BatchDraw {
  std::uint64_t seed = 0;  // of the run
  std::int64_t epoch = 0;
};

// Completes a batch by what a store does not hold, because it is drawn again in each epoch: changes
// tokens, and appends arrays behind those of the schema. What it does to a sample depends only on
// the sample and the draw, so that it is the same in any batch and on any rank. Threads: any number
// of threads may call it at once.
using CompleteBatch = std::function<void(Batch& batch, const BatchDraw& draw)>;

// Makes a batch of samples that have this schema. Pads to the longest sample, rounded up to a
// multiple of `multiple`, but not beyond `max_length` (0: no bound).
[[nodiscard]] Batch make_batch(const std::vector<Sample>& samples,
                               const SampleSchema& schema,
                               std::int32_t pad_id,
                               int multiple = 1,
                               int max_length = 0);

// Returns rows of a batch as one of their own, as wide as the whole.
[[nodiscard]] Batch rows_of(const Batch& batch, std::int64_t first, std::int64_t count);

}  // namespace bp::trainer
