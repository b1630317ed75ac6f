// The encoder's operations with their derivatives: matrix products by LibTorch (oneDNN, MKL), all
// between them by our kernels. Activations are [tokens, width] without padding (layout.h), fp32 or
// bf16; parameters are fp32.
//
// Bias and dropout belong to the operation that follows a product, where they cost no extra pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "trainer/model/layout.h"

namespace bp::trainer {

// One place where dropout happens in one step. The same seed, step, site and sample drop the same
// elements, whatever the batch, the rank and the number of threads.
struct Dropout {
  double share = 0;  // 0: none
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint32_t site = 0;  // tells the places of one step apart
};

using LayoutPtr = std::shared_ptr<const Layout>;

// Word, position and token type 0, added: [tokens, hidden] of `type`.
at::Tensor embed(const LayoutPtr& layout,
                 const at::Tensor& token_ids,  // i64 [offsets.back()]
                 const at::Tensor& word,
                 const at::Tensor& position,
                 const at::Tensor& type,
                 at::ScalarType number);

// A weight, and what products use: itself, or its copy in bf16.
struct Weight {
  at::Tensor master;   // [out, in], fp32, the parameter
  at::Tensor compute;  // the same values in the activations' type
};

// x weight^T, without a bias.
at::Tensor product(const at::Tensor& x, const Weight& weight);

// gelu(x + bias)
at::Tensor bias_gelu(const at::Tensor& x, const at::Tensor& bias);

struct Norm {
  at::Tensor gamma;
  at::Tensor beta;
  double epsilon = 1e-12;
};
// norm(residual + dropout(x + bias)). `bias` and `residual` may be undefined.
at::Tensor add_norm(const LayoutPtr& layout,
                    const at::Tensor& x,
                    const at::Tensor& bias,
                    const at::Tensor& residual,
                    const Norm& norm,
                    const Dropout& dropout);

// dropout(x), row by row.
at::Tensor drop(const LayoutPtr& layout, const at::Tensor& x, const Dropout& dropout);

// Multi-head attention inside each sample. qkv: [tokens, 3 * hidden] (queries, keys, values, each
// head by head), bias: [3 * hidden]. With `first_only`, only the first token of each sample asks:
// [rows, hidden], else [tokens, hidden].
at::Tensor attention(const LayoutPtr& layout,
                     const at::Tensor& qkv,
                     const at::Tensor& bias,
                     int heads,
                     bool first_only,
                     const Dropout& dropout);

}  // namespace bp::trainer
