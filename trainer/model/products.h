// Matrix products of activations, gradients and weights, all of one type: fp32, bf16 or fp16.
//
// LibTorch multiplies fp16 number by number on processors without AVX512-FP16, 4 to 17 times as
// slowly as fp32. So products of fp16 are computed in fp32, and each result is rounded once.
#pragma once

#include <ATen/core/Tensor.h>

namespace bp::trainer {

// Return a b, of the type of both: of matrices, and of the matrices of two batches.
[[nodiscard]] at::Tensor matrix_product(const at::Tensor& a, const at::Tensor& b);
[[nodiscard]] at::Tensor matrix_products(const at::Tensor& a, const at::Tensor& b);

// Returns a b in fp32. Only a result in bf16 is rounded before.
[[nodiscard]] at::Tensor matrix_product_f32(const at::Tensor& a, const at::Tensor& b);

}  // namespace bp::trainer
