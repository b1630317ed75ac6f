// What the encoder computes between two products of matrices, each operation in one or two passes
// over memory: on the host by trainer/model/kernels, on a device by trainer/model/device. The
// autograd Functions (functions.cc, attention.cc) call them with tensors of one device.
//
// Matrices are contiguous, of fp32, bf16 or fp16; biases, norms' parameters and their gradients are
// fp32. A matrix of tokens is [layout.tokens, width] or, for the layout of first tokens, [rows,
// width]. Threads: any.
#pragma once

#include <ATen/core/Tensor.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "trainer/model/functions.h"
#include "trainer/model/layout.h"

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

struct Heads {
  int count = 1;
  int size = 0;
};

// Returns what queries times keys are multiplied by.
[[nodiscard]] inline float score_scale(const Heads& heads) {
  return 1.0F / std::sqrt(static_cast<float>(heads.size));
}

// Tokens' rows [tokens, parts * heads * size] as one matrix [rows * heads, length, size] per part.
// A part of length 1 holds only the first token of each sample.
struct Parts {
  std::vector<at::Tensor> matrices;
  std::vector<int> lengths;
};

// Returns uninitialized matrices of these lengths for the tokens' rows `x`.
[[nodiscard]] Parts empty_parts(const Layout& layout,
                                const Heads& heads,
                                const at::Tensor& x,
                                std::vector<int> lengths);

// Whether the parts are made of, or for, rows of first tokens only.
[[nodiscard]] inline bool are_first_only(const Layout& layout,
                                         const Parts& parts,
                                         const at::Tensor& x) {
  return x.size(0) == layout.rows && parts.lengths[0] == 1;
}

// Returns an uninitialized tensor for the rows that merge() makes of the parts.
[[nodiscard]] at::Tensor empty_rows(const Layout& layout, const Heads& heads, const Parts& parts);

class Passes {
 public:
  Passes() = default;
  Passes(const Passes&) = delete;
  Passes& operator=(const Passes&) = delete;
  virtual ~Passes() = default;

  // See functions.h. Rows that belong to no sample are 0.
  [[nodiscard]] virtual at::Tensor embed(const Layout& layout,
                                         const at::Tensor& token_ids,
                                         const at::Tensor& token_types,
                                         const EmbedTables& tables,
                                         at::ScalarType number) const = 0;
  // `d_out`: fp32. Only the host has sparse gradients.
  [[nodiscard]] virtual EmbedGradients embed_backward(const Layout& layout,
                                                      const at::Tensor& token_ids,
                                                      const at::Tensor& token_types,
                                                      const at::Tensor& d_out,
                                                      const EmbedSizes& sizes) const = 0;

  // Returns gelu(x + bias).
  [[nodiscard]] virtual at::Tensor gelu(const at::Tensor& x, const at::Tensor& bias) const = 0;
  // Returns the gradients of x and of the bias.
  [[nodiscard]] virtual std::pair<at::Tensor, at::Tensor> gelu_backward(
      const at::Tensor& dy, const at::Tensor& x, const at::Tensor& bias) const = 0;

  // Returns norm(residual + dropout(x + bias)). `bias` and `residual` may be undefined.
  [[nodiscard]] virtual Normed add_norm(const Layout& layout,
                                        const at::Tensor& x,
                                        const at::Tensor& bias,
                                        const at::Tensor& residual,
                                        const Norm& norm,
                                        const Dropout& dropout) const = 0;
  [[nodiscard]] virtual NormGradients add_norm_backward(const Layout& layout,
                                                        const at::Tensor& dy,
                                                        const Normed& normed,
                                                        const at::Tensor& gamma,
                                                        bool has_bias,
                                                        const Dropout& dropout) const = 0;

  [[nodiscard]] virtual at::Tensor drop(const Layout& layout,
                                        const at::Tensor& x,
                                        const Dropout& dropout) const = 0;

  // Returns the tokens' rows `x`, plus bias unless that is undefined, as matrices of these lengths,
  // padded with zeros.
  [[nodiscard]] virtual Parts split(const Layout& layout,
                                    const Heads& heads,
                                    const at::Tensor& x,
                                    const at::Tensor& bias,
                                    std::vector<int> lengths) const = 0;
  // The reverse: returns [tokens, parts * heads * size], or [rows, ...] for parts of first tokens,
  // with zeros in the rows that belong to no sample. Unless it is null, `bias_sum` is set to the
  // sum over rows.
  [[nodiscard]] virtual at::Tensor merge(const Layout& layout,
                                         const Heads& heads,
                                         const Parts& parts,
                                         at::Tensor* bias_sum) const = 0;

  // Replaces the scores [rows * heads, queries, longest] by p = softmax(scale * scores) over the
  // columns of the sample's tokens, 0 in the others, and returns dropout(p), which is `scores`
  // without dropout.
  [[nodiscard]] virtual at::Tensor softmax(const Layout& layout,
                                           const Heads& heads,
                                           const at::Tensor& scores,
                                           float scale,
                                           const Dropout& dropout) const = 0;
  // Replaces the gradient `d` of what softmax() returned by that of its scores.
  virtual void softmax_backward(const Layout& layout,
                                const Heads& heads,
                                const at::Tensor& p,
                                const at::Tensor& dropped,
                                const at::Tensor& d,
                                float scale) const = 0;
};

[[nodiscard]] const Passes& host_passes();
// Throws Error (unavailable) if this program has no code for the device.
[[nodiscard]] const Passes& device_passes();

// Returns the passes over the memory of `x`.
[[nodiscard]] inline const Passes& passes_of(const at::Tensor& x) {
  return x.is_cpu() ? host_passes() : device_passes();
}

}  // namespace bp::trainer
