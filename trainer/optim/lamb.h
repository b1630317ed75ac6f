// LAMB (You et al. 2019, arXiv:1904.00962, algorithm 2) with the bias correction and the decoupled
// weight decay of NVIDIA's FusedLAMB (apex): u = m' / (sqrt(v') + epsilon) + decay p;
// p = p - lr ratio u, where ratio = |p| / |u| of a whole matrix, and 1 where a norm is 0. Biases
// and norms have the ratio 1, as in the authors' BERT (exclude_from_layer_adaptation) and in
// FusedLAMB. The gradient is not normalised before: --clip limits its norm.
#pragma once

#include <memory>

#include "bp/trainer/custom_optimizer.h"
#include "trainer/optim/optimizer_options.h"

namespace bp::trainer {

[[nodiscard]] std::shared_ptr<const CustomOptimizer> make_lamb(const OptimizerOptions& options);

}  // namespace bp::trainer
