// The sum of a tensor's squares by LibTorch's threads.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>

#include "bp/types.h"

namespace bp {

// Returns the sum of the squares of all elements, in double precision and in an order that depends
// on their number only. `tensor` must be floating, dense in any order of strides, and on the CPU.
[[nodiscard]] double sum_of_squares(const at::Tensor& tensor);
// The same of each piece of kSquaresPiece elements (bucket_layout.h), whose sum, added one by one
// from 0, is that of the whole. There must be as many `sums` as pieces.
void sums_of_squares(const ConstView& elements, std::span<double> sums);

}  // namespace bp
