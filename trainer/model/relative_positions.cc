#include "trainer/model/relative_positions.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "trainer/model/passes/device_layout.h"
#include "trainer/model/passes/device_of.h"
#include "trainer/model/passes/products.h"

namespace bp::trainer {
namespace {

using at::Tensor;

// No batch has a sample of this id, so the dropout of distances draws numbers of its own.
constexpr std::int64_t kNoSample = -1;

// Half of the buckets are for keys behind the query. Of a half, the first 8 are of one distance
// each, and the others double their reach with every second one, up to kFarthest.
int relative_bucket(int behind) {
  constexpr int kHalf = kRelativeBuckets / 2;
  constexpr int kFarthest = 128;
  const int far = std::min(std::abs(behind), kFarthest);
  const auto bits = static_cast<int>(std::bit_width(static_cast<unsigned>(far * far)));
  const int bucket = far < kHalf / 2 ? far : std::min(kHalf - 1, bits + 1);
  return behind > 0 ? kHalf + bucket : bucket;
}

// Half of the rows of a direction are of one distance each, and the others of as many distances as
// makes them equal on a logarithmic scale. In fp32, as transformers, because ceil() may tell last
// bits apart.
int position_bucket(const EncoderSpec& spec, int behind) {
  const int middle = spec.position_buckets / 2;
  float bucket = static_cast<float>(std::abs(behind));
  if (std::abs(behind) > middle) {
    const auto half = static_cast<float>(middle);
    const float share =
        std::log(bucket / half) / std::log(static_cast<float>(spec.positions - 1) / half);
    bucket = std::ceil(share * (half - 1)) + half;
  }
  const auto row = static_cast<float>(spec.position_buckets);
  return static_cast<int>(std::clamp(behind > 0 ? row - bucket : row + bucket, 0.0F, 2 * row - 1));
}

}  // namespace

int distance_row(const EncoderSpec& spec, int behind) {
  return spec.relative_bias ? relative_bucket(behind) : position_bucket(spec, behind);
}

Layout distances_layout(const EncoderSpec& spec, int longest) {
  Layout layout = make_layout({2 * longest - 1}, {kNoSample}, 1);
  for (std::int64_t& place : layout.place_of_token) {
    place = distance_row(spec, static_cast<int>(place) - (longest - 1));
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
                          const Heads& heads) {
  const std::int64_t both = 2 * std::int64_t{heads.count} * heads.size;
  // Returns queries and keys, [2, heads, rows, size].
  const auto by_head = [&](const Tensor& x, double scale) {
    const Tensor sum = x.narrow(1, 0, both) + bias.narrow(0, 0, both);
    return for_products((sum * scale).to(qkv.scalar_type()))
        .view({x.size(0), 2, heads.count, heads.size})
        .permute({1, 2, 0, 3});
  };
  const Tensor left = by_head(qkv, score_scale(heads)).flatten(0, 1);
  const Tensor rows = by_head(distances, 1);
  const Tensor right = at::stack({rows.select(0, 1), at::flip(rows.select(0, 0), {1})});
  return matrix_products(left, right.flatten(0, 1).transpose(1, 2), at::kFloat)
      .view({2, heads.count, qkv.size(0), distances.size(0)});
}

// In rows of numbers one after the other, the number for a pair is a row's length, less one, behind
// that for the next query.
Tensor by_pair(const Tensor& relative, const Layout& layout, const Heads& heads) {
  const std::int64_t longest = layout.longest;
  if (!heads.disentangled) {
    const Tensor windows = relative.unfold(1, longest, 1);
    return heads.first_only ? windows.slice(1, longest - 1) : at::flip(windows, {1});
  }
  const std::int64_t tokens = layout.offsets.back();
  const std::int64_t next = relative.size(3) - 1;
  const Tensor places = layout.on_device ? layout.on_device->padded_of_token
                                         : at::tensor(layout.padded_of_token, at::kLong);
  const Tensor padded =
      at::zeros({2, heads.count, layout.rows * longest, relative.size(3)}, relative.options())
          .index_copy(2, places.narrow(0, 0, tokens), relative.narrow(2, 0, tokens));
  const Tensor pairs = padded.view({2, heads.count, layout.rows, -1})
                           .narrow(3, longest - 1, longest * next)
                           .unflatten(3, {longest, next})
                           .narrow(4, 0, longest);
  const Tensor sum = (pairs.select(0, 0) + pairs.select(0, 1).transpose(2, 3)).transpose(0, 1);
  return heads.first_only ? sum.narrow(2, 0, 1) : sum;
}

}  // namespace bp::trainer
