// The memory order of gradients.
#pragma once

#include <ATen/core/Tensor.h>

namespace bp::trainer {

// Returns `gradient`, or a dense copy of it, with its memory in the order of the parameter's. The
// loops of the optimizers read parameters, gradients and moments in the order of memory.
[[nodiscard]] at::Tensor laid_out_like(const at::Tensor& parameter, const at::Tensor& gradient);

}  // namespace bp::trainer
