// Models, batches and memory settings that the benchmarks of training steps share.
#pragma once

#include <malloc.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "trainer/model/bert.h"
#include "trainer/optim/adamw.h"
#include "trainer/tasks/classify/class_config.h"

namespace bp::trainer {

inline EncoderSpec minilm() {
  EncoderSpec config;
  config.hidden = 384;
  config.layers = 6;
  config.heads = 12;
  config.intermediate = 1536;
  config.head = head_of({.labels = {"negative", "positive"}});
  return config;
}

// Returns `rows` samples of 32 tokens.
inline Batch make_batch(int rows) {
  Batch batch;
  batch.rows = rows;
  batch.length = 32;
  for (int i = 0; i < rows * batch.length; ++i) {
    batch.token_ids.push_back(1000 + i * 7919 % 29000);
  }
  batch.lengths.assign(static_cast<std::size_t>(rows), batch.length);
  batch.arrays.resize(1);
  for (int row = 0; row < rows; ++row) {
    batch.arrays[0].integers.push_back(row % 2);
    batch.sample_ids.push_back(row);
    batch.text_ids.push_back(row);
  }
  return batch;
}

inline std::unique_ptr<torch::optim::Optimizer> adamw_of(const Bert& model) {
  DecayGroup group{{}, 0.01};
  for (const auto& [name, parameter] : model.parameters()) group.parameters.push_back(parameter);
  return make_fused_adamw({group}, {.lr = 1e-5});
}

// bert_train does the same. Without it, malloc may map each large tensor again, which then causes
// page faults, seemingly at random.
inline void keep_large_blocks() {
  constexpr int kNever = 1 << 30;
  ::mallopt(M_MMAP_THRESHOLD, kNever);
  ::mallopt(M_TRIM_THRESHOLD, kNever);
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace bp::trainer
