// How much two predictions differ, for Head::divergence().
#pragma once

#include <ATen/core/Tensor.h>

namespace bp::trainer {

// Returns the Kullback-Leibler divergence KL(softmax(logits) || softmax(others)) of each row:
// [rows]. Both are [rows, classes].
[[nodiscard]] at::Tensor row_divergences(const at::Tensor& logits, const at::Tensor& others);

}  // namespace bp::trainer
