// Twenty AdamW steps of 32 rows each, the same rows however many ranks share them.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "bp/communicator.h"

namespace bp::test {

struct Outcome {
  std::vector<at::Tensor> parameters = {};
  std::vector<double> losses = {};  // of each step
};

// This rank's share, in `micro_batches` parts, with gradients that travel in type `wire`. Checks
// after each step that parameters are equal on all ranks bit for bit and that the step cost
// bucket_count() collectives.
[[nodiscard]] Outcome train_share(Communicator& world,
                                  int micro_batches,
                                  DataType wire = DataType::f32);

// All rows in one batch, by LibTorch alone.
[[nodiscard]] Outcome train_without_bp();

// Parameters within 2e-5, losses within 1e-6.
void expect_close(const Outcome& a, const Outcome& b);

}  // namespace bp::test
