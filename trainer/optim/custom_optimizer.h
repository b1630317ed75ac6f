// Makes an optimizer of LibTorch of the update that a program defines.
#pragma once

#include <memory>
#include <vector>

#include "bp/trainer/custom_optimizer.h"
#include "trainer/optim/adamw.h"

namespace bp::trainer {

// Returns an optimizer whose param_groups() have the order of `groups`. It implements
// OptimizerState. step() does not change a parameter without a gradient.
[[nodiscard]] std::unique_ptr<torch::optim::Optimizer> make_custom_optimizer(
    const std::vector<DecayGroup>& groups, std::shared_ptr<const CustomOptimizer> rule);

}  // namespace bp::trainer
