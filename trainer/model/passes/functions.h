// The encoder's operations and their derivatives. LibTorch (oneDNN, MKL) computes the matrix
// products, and bp's own kernels everything between them. Activations are [tokens, width] without
// padding (layout.h), fp32, bf16 or fp16; parameters are fp32.
//
// The operation that follows a product also applies its bias and dropout, so that they need no
// extra pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>

#include "trainer/model/kernels/kernels.h"
#include "trainer/model/passes/layout.h"

namespace bp::trainer {

// One dropout site in one step. The same seed, step, site and sample drop the same elements for any
// batch, rank and number of threads.
struct Dropout {
  double share = 0;  // share of elements to drop; 0: no dropout
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint32_t site = 0;  // distinguishes the sites of one step
};

using LayoutPtr = std::shared_ptr<const Layout>;

// Returns the sum of the embeddings of the word, the position and the token type: [tokens, hidden]
// of type `number`. `sparse_words`: the gradient of `word` is a sparse tensor of the rows that the
// batch has, which only the CPU can compute.
at::Tensor embed(const LayoutPtr& layout,
                 const at::Tensor& token_ids,    // i64 [offsets.back()]
                 const at::Tensor& token_types,  // i64 [offsets.back()]
                 const at::Tensor& word,
                 const at::Tensor& position,
                 const at::Tensor& type,
                 bool sparse_words,
                 at::ScalarType number);

// A weight, and the copy with the numbers of bf16 or fp16 that products use. In fp32 they use the
// weight itself, whose memory may change from step to step.
struct Weight {
  at::Tensor master;  // [out, in], fp32, the parameter
  at::Tensor compute =
      {};  // weight_for_products() of it (products.h); undefined: the weight itself
};

// Returns x weight^T, without a bias.
at::Tensor product(const at::Tensor& x, const Weight& weight);

// Adds scale * part to the columns of x from `begin` on, in place, and returns x. Nothing else may
// use what x was before.
at::Tensor add_columns(const at::Tensor& x,
                       const at::Tensor& part,
                       std::int64_t begin,
                       double scale);

// Returns gelu(x + bias), with erf or by_tanh.
at::Tensor bias_gelu(const at::Tensor& x, const at::Tensor& bias, bool by_tanh = false);

// Returns gelu(a) * b of the halves a and b of each row (Shazeer 2020, "GLU variants improve
// transformer", arXiv:2002.05202).
at::Tensor gated_gelu(const at::Tensor& x);

struct Norm {
  at::Tensor gamma;
  at::Tensor beta;
  double epsilon = 1e-12;
};
// Returns norm(residual + dropout(x + bias)). `bias` and `residual` may be undefined.
at::Tensor add_norm(const LayoutPtr& layout,
                    const at::Tensor& x,
                    const at::Tensor& bias,
                    const at::Tensor& residual,
                    const Norm& norm,
                    const Dropout& dropout);

// Returns dropout(x), row by row.
at::Tensor drop(const LayoutPtr& layout, const at::Tensor& x, const Dropout& dropout);

// Return the states of each sample's first token, [rows, width], and the means of those of its
// tokens, fp32 [rows, width].
at::Tensor firsts_of(const at::Tensor& states, const Layout& layout);
at::Tensor means_of(const at::Tensor& states, const Layout& layout);
// The reverse of firsts_of(): returns [layout.tokens, width], with 0 for the other tokens.
at::Tensor at_firsts(const at::Tensor& firsts, const Layout& layout);

// The heads of attention, and what they compute scores of.
struct Heads {
  int count = 1;
  int size = 0;
  kernels::Window window = {};  // of the tokens that a query sees
  bool disentangled = false;    // a score is the sum of three products (relative_positions.h)
  bool first_only = false;      // only the first token of each sample is a query
};

// Returns what queries times keys are multiplied by.
[[nodiscard]] inline float score_scale(const Heads& heads) {
  constexpr int kTerms = 3;
  return 1.0F / std::sqrt(static_cast<float>(heads.size * (heads.disentangled ? kTerms : 1)));
}

// Returns multi-head attention inside each sample: [tokens, hidden], or of first tokens [rows,
// hidden]. qkv: [tokens, 3 * hidden] (queries, keys, values, each head by head); bias: [3 *
// hidden].
//
// `relative`: fp32 [heads, 2 * layout.longest - 1]. Its number layout.longest - 1 + j - i is added
// to the scaled score of the query i and the key j. For disentangled heads scores_by_distance():
// fp32 [2, heads, tokens, 2 * layout.longest - 1], scaled, of which the query's number longest - 1
// + j - i and the key's number longest - 1 + i - j are added. Undefined: nothing is.
//
// The faster way is taken, unless `way` says otherwise: fused, head by head in the cache and
// without padding (on the host only), or by products of padded matrices in memory.
enum class AttentionWay : std::uint8_t { faster, fused, padded };
at::Tensor attention(const LayoutPtr& layout,
                     const at::Tensor& qkv,
                     const at::Tensor& bias,
                     const Heads& heads,
                     const Dropout& dropout,
                     const at::Tensor& relative = {},
                     AttentionWay way = AttentionWay::faster);

}  // namespace bp::trainer
