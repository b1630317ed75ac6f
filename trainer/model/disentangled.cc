#include "trainer/model/disentangled.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "trainer/model/passes/device_layout.h"
#include "trainer/model/passes/device_of.h"
#include "trainer/model/passes/passes.h"
#include "trainer/model/passes/products.h"

namespace bp::trainer {
namespace {

using at::Tensor;

// No batch has a sample of this id, so the dropout of distances draws numbers of its own.
constexpr std::int64_t kNoSample = -1;

}  // namespace

// Half of the rows of a direction are of one distance each, and the others of as many distances as
// makes them equal on a logarithmic scale. In fp32, as transformers, because ceil() may tell last
// bits apart.
int position_bucket(const EncoderSpec& spec, int distance) {
  const int buckets = spec.position_buckets;
  const int middle = buckets / 2;
  float bucket = static_cast<float>(std::abs(distance));
  if (std::abs(distance) > middle) {
    const auto half = static_cast<float>(middle);
    const float share =
        std::log(bucket / half) / std::log(static_cast<float>(spec.positions - 1) / half);
    bucket = std::ceil(share * (half - 1)) + half;
  }
  const auto row = static_cast<float>(buckets);
  return static_cast<int>(
      std::clamp(distance < 0 ? row - bucket : row + bucket, 0.0F, 2 * row - 1));
}

Layout distances_layout(const EncoderSpec& spec, int longest) {
  Layout layout = make_layout({2 * longest - 1}, {kNoSample}, 1);
  for (std::int64_t& place : layout.place_of_token) {
    place = position_bucket(spec, longest - 1 - static_cast<int>(place));
  }
  return layout;
}

Tensor rows_by_distance(const Tensor& table, const Layout& layout) {
  const Tensor places = at::tensor(layout.place_of_token, at::kLong);
  return at::embedding(table, on_device_of(table, places));
}

Tensor scores_by_distance(const Tensor& qkv,
                          const Tensor& distances,
                          const Tensor& bias,
                          int heads) {
  const std::int64_t hidden = qkv.size(1) / 3;
  const std::int64_t size = hidden / heads;
  // Returns queries and keys, [2, heads, rows, size].
  const auto by_head = [&](const Tensor& x, double scale) {
    const Tensor sum = x.narrow(1, 0, 2 * hidden) + bias.narrow(0, 0, 2 * hidden);
    return for_products((sum * scale).to(qkv.scalar_type()))
        .view({x.size(0), 2, heads, size})
        .permute({1, 2, 0, 3});
  };
  const float scale =
      score_scale({.count = heads, .size = static_cast<int>(size), .terms = kDisentangledTerms});
  const Tensor left = by_head(qkv, scale).flatten(0, 1);
  const Tensor rows = by_head(distances, 1);
  const Tensor right = at::stack({rows.select(0, 1), at::flip(rows.select(0, 0), {1})});
  return matrix_products(left, right.flatten(0, 1).transpose(1, 2), at::kFloat)
      .view({2, heads, qkv.size(0), distances.size(0)});
}

// In rows of numbers one after the other, the number for a pair is a row's length, less one, behind
// that for the next query.
Tensor by_pair(const Tensor& scores, const Layout& layout, bool first_only) {
  const std::int64_t longest = layout.longest;
  const std::int64_t tokens = layout.offsets.back();
  const std::int64_t next = scores.size(3) - 1;
  const Tensor places = layout.on_device ? layout.on_device->padded_of_token
                                         : at::tensor(layout.padded_of_token, at::kLong);
  const Tensor padded =
      at::zeros({2, scores.size(1), layout.rows * longest, scores.size(3)}, scores.options())
          .index_copy(2, places.narrow(0, 0, tokens), scores.narrow(2, 0, tokens));
  const Tensor pairs = padded.view({2, scores.size(1), layout.rows, -1})
                           .narrow(3, longest - 1, longest * next)
                           .unflatten(3, {longest, next})
                           .narrow(4, 0, longest);
  const Tensor sum = (pairs.select(0, 0) + pairs.select(0, 1).transpose(2, 3)).transpose(0, 1);
  return first_only ? sum.narrow(2, 0, 1) : sum;
}

}  // namespace bp::trainer
