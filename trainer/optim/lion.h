// Lion (Chen et al. 2023, arXiv:2302.06675, algorithm 2), with decoupled weight decay:
// p = p - lr (sign(beta1 m + (1 - beta1) g) + decay p); m = beta2 m + (1 - beta2) g.
#pragma once

#include <memory>

#include "bp/trainer/custom_optimizer.h"
#include "trainer/optim/optimizer_options.h"

namespace bp::trainer {

[[nodiscard]] std::shared_ptr<const CustomOptimizer> make_lion(const OptimizerOptions& options);

}  // namespace bp::trainer
