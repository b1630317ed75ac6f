// Adadelta (Zeiler 2012, arXiv:1212.5701) as torch.optim.Adadelta has it: g = g + decay p;
// s = rho s + (1 - rho) g^2; x = sqrt(d + epsilon) / sqrt(s + epsilon) g; d = rho d + (1 - rho)
// x^2; p = p - lr x.
#pragma once

#include <memory>

#include "bp/trainer/custom_optimizer.h"
#include "trainer/optim/optimizer_options.h"

namespace bp::trainer {

[[nodiscard]] std::shared_ptr<const CustomOptimizer> make_adadelta(const OptimizerOptions& options);

}  // namespace bp::trainer
