// Products of matrices of fp32 by oneDNN, which LibTorch brings along but uses for other types
// only.
#pragma once

#include <ATen/core/Tensor.h>

namespace bp::trainer {

// Returns whether LibTorch brings oneDNN along.
[[nodiscard]] bool has_onednn();

// Returns whether oneDNN multiplies these matrices in less time than MKL, on processors where it is
// the faster one for large ones.
[[nodiscard]] bool are_large_for_onednn(const at::Tensor& a, const at::Tensor& b);

// Returns a b, of matrices of fp32 in the host's memory. Signals wait until it is done.
[[nodiscard]] at::Tensor product_by_onednn(const at::Tensor& a, const at::Tensor& b);

}  // namespace bp::trainer
