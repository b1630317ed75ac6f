// What attention adds to the score of a query and a key for the distance between them, in one of
// two forms.
//
// The relative bias (Raffel et al. 2020): a number for each head and each bucket of distances.
//
// Disentangled attention (He et al. 2021, "DeBERTa", arXiv:2006.03654): the score is the sum of the
// product of the query and the key, of the query's with the key of their distance, and of the key's
// with the query of their distance. The keys and queries of distances are projections of rows of a
// table, in each layer by the matrices that project tokens.
#pragma once

#include <ATen/core/Tensor.h>

#include "trainer/model/families/encoder_spec.h"
#include "trainer/model/passes/functions.h"

namespace bp::trainer {

// Returns the row of the table of kRelativeBuckets or 2 * spec.position_buckets rows for a key so
// many tokens `behind` the query, or before it if that is negative. Far distances share rows.
[[nodiscard]] int distance_row(const EncoderSpec& spec, int behind);

// Returns the layout of the rows of the distances 1 - longest to longest - 1, as a sample that no
// batch has. The places are those in the table.
[[nodiscard]] Layout distances_layout(const EncoderSpec& spec, int longest);

// Returns these rows of `table`: fp32 [2 * longest - 1, width].
[[nodiscard]] at::Tensor rows_by_distance(const at::Tensor& table, const Layout& layout);

// Returns the products with distances, scaled: fp32 [2, heads, tokens, 2 * longest - 1]. The first
// half is of the tokens' queries; number longest - 1 + d is for the key d tokens behind. The second
// is of their keys, for the query d tokens behind. `qkv` and `distances` are projections of tokens
// and of rows_by_distance(), [..., 3 * hidden], to which `bias` is added.
[[nodiscard]] at::Tensor scores_by_distance(const at::Tensor& qkv,
                                            const at::Tensor& distances,
                                            const at::Tensor& bias,
                                            const Heads& heads);

// Returns what attention() adds to each query and key, `relative` as it takes it: [heads, queries,
// longest], or [rows, heads, queries, longest] if attention is disentangled.
[[nodiscard]] at::Tensor by_pair(const at::Tensor& relative,
                                 const Layout& layout,
                                 const Heads& heads);

}  // namespace bp::trainer
