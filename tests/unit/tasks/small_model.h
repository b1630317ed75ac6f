// A model of few weights, without dropout in its encoder, and a batch for it.
#pragma once

#include "trainer/batches/batch.h"
#include "trainer/model/config.h"

namespace bp::trainer {

inline EncoderSpec small_config() {
  EncoderSpec config;
  config.vocabulary = 9;
  config.hidden = 8;
  config.positions = 4;
  config.hidden_dropout = 0;
  config.attention_dropout = 0;
  return config;
}

// Two samples, of 3 and 2 tokens.
inline Batch small_batch() {
  Batch batch;
  batch.rows = 2;
  batch.length = 3;
  batch.token_ids = {1, 2, 3, 4, 5, 0};
  batch.lengths = {3, 2};
  batch.sample_ids = {7, 8};
  return batch;
}

}  // namespace bp::trainer
