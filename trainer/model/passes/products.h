// Matrix products of activations, gradients and weights in fp32, bf16 or fp16.
//
// The numbers are defined: operands are numbers of their type (parameters are rounded to it), the
// products of these are added in fp32, and each result is rounded once, to the nearest even.
//
// LibTorch multiplies fp16 on processors without AVX512-FP16, and bf16 on x86 without AVX-512,
// number by number, many times as slowly as fp32. There operands are widened to fp32, which is
// exact, and LibTorch multiplies fp32. The same code on the same processor with the same number of
// threads gives the same bits in each run.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include <c10/core/ScalarType.h>

#include "trainer/model/passes/precision.h"

namespace bp::trainer {

// Which of LibTorch's libraries multiplies matrices of fp32.
enum class Fp32Products : std::uint8_t { mkl, onednn };

// Returns the choice for this processor, which is the same during the whole process: oneDNN on
// AMD's with AVX-512, which MKL does not use there, else MKL, or what LibTorch has in its place.
[[nodiscard]] Fp32Products fp32_products();

// Returns x in the type in which its products are computed: itself, or widened to fp32. Devices
// multiply each type.
[[nodiscard]] at::Tensor for_products(const at::Tensor& x, Bf16Products how = bf16_products());

// Returns a parameter, rounded to `number`, in the type in which its products are computed. It
// shares the memory of `master` if that is the type of both.
[[nodiscard]] at::Tensor weight_for_products(const at::Tensor& master,
                                             at::ScalarType number,
                                             Bf16Products how = bf16_products());

// Return a b of type `to`: of matrices, and of the matrices of two batches, [batch, m, k] and
// [batch, k, n]. Both operands are of one type, which for_products() returned. A product of two
// bf16 is rounded to bf16 before it becomes fp32, except on CUDA devices. With `onednn`, MKL still
// multiplies small matrices and batches.
[[nodiscard]] at::Tensor matrix_product(const at::Tensor& a,
                                        const at::Tensor& b,
                                        at::ScalarType to,
                                        Fp32Products how = fp32_products());
[[nodiscard]] at::Tensor matrix_products(const at::Tensor& a,
                                         const at::Tensor& b,
                                         at::ScalarType to);

}  // namespace bp::trainer
