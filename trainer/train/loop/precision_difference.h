// How far an evaluation in another precision is from one in fp32.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/batches/batch.h"
#include "trainer/model/bert.h"

namespace bp::trainer {

struct PrecisionDifference {
  std::int64_t samples = 0;
  double largest = 0;        // between an output and the same one in fp32
  std::int64_t choices = 0;  // rows of several outputs
  std::int64_t changed = 0;  // of these, those with another largest output than in fp32
};

// Computes the outputs of the blocks in both precisions. The model evaluates as it is trained, also
// afterwards.
[[nodiscard]] PrecisionDifference difference_from_fp32(Bert& model,
                                                       const std::vector<Batch>& blocks);

// "bf16 beside fp32, in the first 256 samples: outputs differ by at most 0.0123, and 1 of 256 have
// another largest one"
[[nodiscard]] std::string text_of(const PrecisionDifference& difference, Precision precision);

}  // namespace bp::trainer
