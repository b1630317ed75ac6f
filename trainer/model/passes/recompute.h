// Activation checkpointing (Chen et al. 2016): a part of a model keeps its input instead of its
// activations, and its backward pass computes them again.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace bp::trainer {

// Returns compute(x). The backward pass calls `compute` again, with the same x, so it must return
// the same bits each time. `parameters`: all tensors besides x through which gradients go.
[[nodiscard]] at::Tensor recompute(const at::Tensor& x,
                                   const std::vector<at::Tensor>& parameters,
                                   std::function<at::Tensor(const at::Tensor& x)> compute);

}  // namespace bp::trainer
