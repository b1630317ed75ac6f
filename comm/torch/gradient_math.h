// Arithmetic on reduced gradients whose result does not depend on the number of threads nor on the
// instruction set, so that ranks on unequal machines agree bit for bit.
#pragma once

#include <ATen/core/Tensor.h>

namespace bp {

// The sum of the squares of all elements, in double precision and in a fixed order. `tensor` is
// floating and dense (any order of strides).
[[nodiscard]] double sum_of_squares(const at::Tensor& tensor);

}  // namespace bp
