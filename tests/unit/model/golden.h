// The golden model: its weights and expected numbers, which transformers wrote (tests/golden/bert).
#pragma once

#include <cstddef>
#include <string>

#include "tests/support/places.h"
#include "trainer/model/config.h"

namespace bp::trainer {

// Its file has 5 tensors of the embeddings, 16 of each of two layers, and 2 each of pooler and
// head.
inline constexpr std::size_t kGoldenParameters = 41;
inline const std::string kGolden = kSourceDir + "/tests/golden/bert";

inline EncoderSpec golden_config(double dropout) {
  EncoderSpec config = read_config(kGolden + "/config.json");
  config.hidden_dropout = dropout;
  config.attention_dropout = dropout;
  return config;
}

}  // namespace bp::trainer
