// Sums sparse gradients over all ranks, such as those of large embeddings: a few rows of a matrix,
// with their numbers.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "bp/communicator.h"
#include "comm/torch/parameter_set.h"

namespace bp {

// This rank's gradient of one parameter. Having no rows is not the same as being frozen.
struct SparseGradient {
  Parameter parameter = {};
  at::Tensor gradient = {};  // undefined: no rows
  bool is_frozen = false;
};

// Returns the sums, coalesced, with the same bits on all ranks, because rows are added in the order
// of ranks. Collective: every rank must pass the same parameters. Ranks send the rows that they
// have, or the whole matrix if that is less. Costs one small collective, and one or two for each
// parameter. Throws a mismatch on all ranks if a parameter is frozen on only some of them.
[[nodiscard]] std::vector<at::Tensor> sum_sparse(Communicator& comm,
                                                 const std::vector<SparseGradient>& mine);

// Returns a gradient without rows for a parameter of this shape and type.
[[nodiscard]] at::Tensor no_rows(const at::Tensor& parameter);

}  // namespace bp
