// Disentangled attention (He et al. 2021, "DeBERTa", arXiv:2006.03654): the score of a query and a
// key is the sum of their product, of the query's with the key of their distance, and of the key's
// with the query of their distance. The keys and queries of distances are projections of rows of a
// table, in each layer by the matrices that project tokens.
#pragma once

#include <ATen/core/Tensor.h>

#include "trainer/model/families/encoder_spec.h"
#include "trainer/model/passes/layout.h"

namespace bp::trainer {

// The products that add up to a score.
inline constexpr int kDisentangledTerms = 3;

// Returns the row of the table, of 2 * spec.position_buckets rows, for a key `distance` tokens
// before the query, or behind it if that is negative. Far distances share rows.
[[nodiscard]] int position_bucket(const EncoderSpec& spec, int distance);

// Returns the layout of the rows of the distances longest - 1 down to 1 - longest, as a sample that
// no batch has. The places are those in the table.
[[nodiscard]] Layout distances_layout(const EncoderSpec& spec, int longest);

// Returns these rows of `table`: fp32 [2 * longest - 1, hidden].
[[nodiscard]] at::Tensor rows_by_distance(const at::Tensor& table, const Layout& layout);

// Returns the products with distances, scaled: fp32 [2, heads, tokens, 2 * longest - 1]. The first
// half is of the tokens' queries; number longest - 1 + d is for the key d tokens behind. The second
// is of their keys, for the query d tokens behind. `qkv` and `distances` are projections of tokens
// and of rows_by_distance(), [..., 3 * hidden], to which `bias` is added.
[[nodiscard]] at::Tensor scores_by_distance(const at::Tensor& qkv,
                                            const at::Tensor& distances,
                                            const at::Tensor& bias,
                                            int heads);

// Returns the sum of both by query and key: [rows, heads, queries, longest]. `first_only`: the
// first token is the only query.
[[nodiscard]] at::Tensor by_pair(const at::Tensor& scores, const Layout& layout, bool first_only);

}  // namespace bp::trainer
