// What a backward pass from a loss would reach, from one walk over autograd's graph.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "comm/torch/gradient_hooks.h"

namespace bp {

struct LossGraph {
  std::vector<at::Tensor> leaves = {};      // those that belong to no other optimizer
  std::vector<GradientHooks*> others = {};  // the optimizers of the other leaves, each once
  // There is a step that is not LibTorch's own, such as a torch::autograd::Function. It may run a
  // backward pass of its own, whose leaves no walk sees.
  bool runs_other_code = false;
};

// `own`: the optimizer whose loss it is.
[[nodiscard]] LossGraph graph_of(const at::Tensor& loss, const GradientHooks& own);

}  // namespace bp
