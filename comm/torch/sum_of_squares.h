// The sum of a tensor's squares by LibTorch's threads.
#pragma once

#include <ATen/core/Tensor.h>

namespace bp {

// Returns the sum of the squares of all elements, in double precision and in an order that depends
// on their number only. `tensor` must be floating, dense in any order of strides, and on the CPU.
[[nodiscard]] double sum_of_squares(const at::Tensor& tensor);

}  // namespace bp
