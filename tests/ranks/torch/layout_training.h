// Twenty AdamW steps of 32 rows each. The rows do not depend on the number of ranks that share
// them.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "bp/communicator.h"

namespace bp::test {

struct Outcome {
  std::vector<at::Tensor> parameters = {};
  std::vector<double> losses = {};  // of each step
};

// Trains on this rank's share in `micro_batches` parts, with gradients that travel as `wire`.
// Checks after each step that the parameters are equal on all ranks bit for bit and that the step
// took bucket_count() collectives.
[[nodiscard]] Outcome train_share(Communicator& world,
                                  int micro_batches,
                                  DataType wire = DataType::f32);

// Trains on all rows in one batch, with LibTorch alone.
[[nodiscard]] Outcome train_without_bp();

// Expects parameters within 2e-5 and losses within 1e-6.
void expect_close(const Outcome& a, const Outcome& b);

}  // namespace bp::test
