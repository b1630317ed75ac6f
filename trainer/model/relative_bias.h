// The relative bias of attention (Raffel et al. 2020): a number for each head and each bucket of
// distances between a query and a key, which is added to their score.
#pragma once

#include <ATen/core/Tensor.h>

#include "trainer/model/families/encoder_spec.h"

namespace bp::trainer {

// From this distance on, all have one bucket in each direction.
inline constexpr int kFarthest = 128;

// Returns the bucket of a key `distance` tokens behind the query, or before it if that is negative.
[[nodiscard]] int relative_bucket(int distance);

// Returns the numbers of the distances 1 - longest to longest - 1: fp32 [heads, 2 * longest - 1].
// `table`: fp32 [kRelativeBuckets, heads].
[[nodiscard]] at::Tensor by_distance(const at::Tensor& table, int longest);

// Returns the same by query and key: [heads, queries, longest]. `first_only`: the first token is
// the only query.
[[nodiscard]] at::Tensor by_query(const at::Tensor& relative, bool first_only);

}  // namespace bp::trainer
