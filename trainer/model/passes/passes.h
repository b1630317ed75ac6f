// Computes what the encoder needs between two products of matrices, in one or two passes each
// over memory: on the host by trainer/model/kernels (host_passes.cc), on a device by
// trainer/model/device. Both take the arguments of trainer/model/device/model_kernels.h. The
// autograd Functions (functions.cc, attention.cc) call these functions with tensors of one device,
// and throw Error (unavailable) if this program has no code for it.
//
// Matrices are contiguous, of fp32, bf16 or fp16; biases, norms' parameters and their gradients are
// fp32. A matrix of tokens is [layout.tokens, width] or, for the layout of first tokens, [rows,
// width]. Threads: any.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "trainer/model/device/model_kernels.h"
#include "trainer/model/passes/functions.h"
#include "trainer/model/passes/layout.h"

namespace bp::trainer {

struct EmbedTables {
  const at::Tensor& word;      // fp32 [words, width]
  const at::Tensor& position;  // fp32 [positions, width]
  const at::Tensor& type;      // fp32 [types, width]
};
struct EmbedGradients {
  at::Tensor word;
  at::Tensor position;
  at::Tensor type;
};
// The number of rows of each table, and whether the gradient of the first is to be sparse: a
// coalesced tensor of the rows whose words the batch has.
struct EmbedSizes {
  std::int64_t words = 0;
  std::int64_t positions = 0;
  std::int64_t types = 0;
  bool sparse_words = false;
};

// The result of add_norm(), and what its backward pass needs of it.
struct Normed {
  at::Tensor y;
  at::Tensor z;     // the sum that is normed
  at::Tensor mean;  // fp32 [rows of z]
  at::Tensor rstd;  // fp32 [rows of z]
};
struct NormGradients {
  at::Tensor dz;  // of the residual
  at::Tensor dx;
  at::Tensor gamma;
  at::Tensor beta;
  at::Tensor bias;  // undefined without one
};

// Tokens' rows [tokens, parts * heads * size] as one matrix [rows * heads, length, size] per part.
// A part of length 1 holds only the first token of each sample.
struct Parts {
  std::vector<at::Tensor> matrices;
  std::vector<int> lengths;
};

// The kernels for the host.
[[nodiscard]] const device::ModelKernels& host_kernels();

namespace passes {

// See functions.h. Rows that belong to no sample are 0.
[[nodiscard]] at::Tensor embed(const Layout& layout,
                               const at::Tensor& token_ids,
                               const at::Tensor& token_types,
                               const EmbedTables& tables,
                               at::ScalarType number);
// `d_out`: fp32. Only the host has sparse gradients.
[[nodiscard]] EmbedGradients embed_backward(const Layout& layout,
                                            const at::Tensor& token_ids,
                                            const at::Tensor& token_types,
                                            const at::Tensor& d_out,
                                            const EmbedSizes& sizes);

// Returns gelu(x + bias), with erf or by_tanh.
[[nodiscard]] at::Tensor gelu(const at::Tensor& x, const at::Tensor& bias, bool by_tanh = false);
// Returns the gradients of x and of the bias.
[[nodiscard]] std::pair<at::Tensor, at::Tensor> gelu_backward(const at::Tensor& dy,
                                                              const at::Tensor& x,
                                                              const at::Tensor& bias,
                                                              bool by_tanh = false);

// Returns norm(residual + dropout(x + bias)). `bias` and `residual` may be undefined.
[[nodiscard]] Normed add_norm(const Layout& layout,
                              const at::Tensor& x,
                              const at::Tensor& bias,
                              const at::Tensor& residual,
                              const Norm& norm,
                              const Dropout& dropout);
[[nodiscard]] NormGradients add_norm_backward(const Layout& layout,
                                              const at::Tensor& dy,
                                              const Normed& normed,
                                              const at::Tensor& gamma,
                                              bool has_bias,
                                              const Dropout& dropout);

[[nodiscard]] at::Tensor drop(const Layout& layout, const at::Tensor& x, const Dropout& dropout);

// Returns the tokens' rows `x`, plus bias unless that is undefined, as matrices of these lengths,
// padded with zeros.
[[nodiscard]] Parts split(const Layout& layout,
                          const Heads& heads,
                          const at::Tensor& x,
                          const at::Tensor& bias,
                          std::vector<int> lengths);
// The reverse: returns [tokens, parts * heads * size], or [rows, ...] for parts of first tokens,
// with zeros in the rows that belong to no sample. Unless it is null, `bias_sum` is set to the sum
// over rows.
[[nodiscard]] at::Tensor merge(const Layout& layout,
                               const Heads& heads,
                               const Parts& parts,
                               at::Tensor* bias_sum);

// Replaces the scores [rows * heads, queries, longest] by p = softmax(scale * scores) over the
// columns of the sample's tokens, 0 in the others, and returns dropout(p), which is `scores`
// without dropout.
[[nodiscard]] at::Tensor softmax(const Layout& layout,
                                 const Heads& heads,
                                 const at::Tensor& scores,
                                 float scale,
                                 const Dropout& dropout);
// Replaces the gradient `d` of what softmax() returned by that of its scores.
void softmax_backward(const Layout& layout,
                      const Heads& heads,
                      const at::Tensor& p,
                      const at::Tensor& dropped,
                      const at::Tensor& d,
                      float scale);

}  // namespace passes
}  // namespace bp::trainer
