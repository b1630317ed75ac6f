// The sum over all ranks of sparse gradients, such as those of large embeddings: a few rows of a
// matrix, by their numbers.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "bp/communicator.h"
#include "comm/torch/parameters.h"

namespace bp {

// This rank's gradient of one parameter; nothing and frozen are two things.
struct SparseGradient {
  Parameter parameter = {};
  at::Tensor gradient = {};  // undefined: no rows
  bool is_frozen = false;
};

// Every rank calls it with the same parameters. Returns their sums, coalesced, the same bits on all
// ranks: rows are added in the order of ranks. Ranks send the rows that they have, or where that
// would be more, the whole matrix. Costs one small collective, and one or two for each parameter.
// Throws mismatch on all ranks where a parameter is frozen on some of them only.
[[nodiscard]] std::vector<at::Tensor> sum_sparse(Communicator& comm,
                                                 const std::vector<SparseGradient>& mine);

// No rows, for a parameter of this shape and type.
[[nodiscard]] at::Tensor no_rows(const at::Tensor& parameter);

}  // namespace bp
