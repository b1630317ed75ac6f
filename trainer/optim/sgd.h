// SGD as torch.optim.SGD has it, without dampening: g = g + decay p; b = momentum b + g; p = p - lr
// b, or p - lr (g + momentum b) with nesterov. Without momentum it keeps nothing. LibTorch's fused
// kernel computes it.
#pragma once

#include <memory>

#include "bp/trainer/custom_optimizer.h"
#include "trainer/optim/optimizer_options.h"

namespace bp::trainer {

[[nodiscard]] std::shared_ptr<const CustomOptimizer> make_sgd(const OptimizerOptions& options);

}  // namespace bp::trainer
