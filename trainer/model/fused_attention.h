// Attention on the host without matrices in memory between the steps: the scores of a head of a
// sample stay in the cache, and nothing is computed for padding.
#pragma once

#include <ATen/core/Tensor.h>

#include <c10/core/ScalarType.h>

#include "trainer/model/functions.h"
#include "trainer/model/layout.h"
#include "trainer/model/passes.h"

namespace bp::trainer {

// Returns whether this is faster than products of padded matrices in memory, which are fast where
// samples are long and of similar lengths. `number`: the type of activations.
[[nodiscard]] bool is_fused_faster(const Layout& layout, at::ScalarType number);

// The result, and what the backward pass needs of it.
struct Attended {
  at::Tensor y;        // [tokens, hidden], or [rows, hidden] for first tokens
  at::Tensor p;        // probabilities: [queries, keys] of each head, sample by sample
  at::Tensor dropped;  // the same after dropout, or `p`
};
// See attention() in functions.h. Rows that belong to no sample are 0.
[[nodiscard]] Attended attend(const Layout& layout,
                              const Heads& heads,
                              const at::Tensor& qkv,
                              const at::Tensor& bias,
                              bool first_only,
                              const Dropout& dropout);

struct AttentionGradients {
  at::Tensor qkv;
  at::Tensor bias;
};
[[nodiscard]] AttentionGradients attend_backward(const Layout& layout,
                                                 const Heads& heads,
                                                 const at::Tensor& qkv,
                                                 const at::Tensor& bias,
                                                 bool first_only,
                                                 const Attended& attended,
                                                 const at::Tensor& dy);

}  // namespace bp::trainer
