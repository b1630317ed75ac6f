// Adam (Kingma and Ba 2015, arXiv:1412.6980) with the weight decay of torch.optim.Adam, which is
// added to the gradient (L2): g + decay p. LibTorch's fused kernel computes it, as for AdamW.
#pragma once

#include <memory>

#include "bp/trainer/custom_optimizer.h"
#include "trainer/optim/optimizer_options.h"

namespace bp::trainer {

[[nodiscard]] std::shared_ptr<const CustomOptimizer> make_adam(const OptimizerOptions& options);

}  // namespace bp::trainer
