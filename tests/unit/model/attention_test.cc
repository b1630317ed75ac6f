// The two ways to compute attention agree, and threads change no bit.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "base/text.h"
#include "trainer/model/passes/functions.h"
#include "trainer/model/passes/layout.h"
#include "trainer/model/relative_positions.h"

namespace bp::trainer {
namespace {

using at::Tensor;
using kernels::Window;

constexpr int kHeads = 3;
constexpr int kSize = 12;

Window within(int reach) { return {.before = reach, .after = reach}; }

struct Found {
  Tensor y;
  std::vector<Tensor> gradients;  // of queries, keys and values, of their bias, and of `relative`
};

class AttentionWays : public ::testing::Test {
 protected:
  AttentionWays() { at::manual_seed(5); }
  ~AttentionWays() override { at::set_num_threads(threads_); }

  // `relative`: whether scores get a bias by distance.
  Found by(AttentionWay way,
           at::ScalarType type,
           bool first_only,
           double dropout,
           const kernels::Window& window = {},
           bool relative = false) const {
    const Tensor qkv = qkv_.to(type).requires_grad_(true);
    const Tensor bias = bias_.clone().requires_grad_(true);
    Found found;
    const Tensor added = relative ? relative_.clone().requires_grad_(true) : Tensor();
    const Heads heads{.count = kHeads, .size = kSize, .window = window, .first_only = first_only};
    found.y = attention(layout_, qkv, bias, heads, {dropout, 3, 4, 5}, added, way);
    // Rows that belong to no sample have no gradient.
    const Tensor dy = dy_.slice(0, 0, found.y.size(0)).to(type);
    std::vector<Tensor> inputs = {qkv, bias};
    if (relative) inputs.push_back(added);
    found.gradients = torch::autograd::grad({found.y}, inputs, {dy});
    return found;
  }

  const int threads_ = at::get_num_threads();
  const LayoutPtr layout_ =
      std::make_shared<const Layout>(make_layout({7, 1, 40, 23, 12}, {9, 8, 7, 6, 5}));
  const Tensor qkv_ = at::randn({layout_->tokens, 3 * kHeads* kSize});
  const Tensor bias_ = at::randn({3 * kHeads * kSize});
  const Tensor dy_ = at::randn({layout_->tokens, kHeads* kSize});
  const Tensor relative_ = at::randn({kHeads, 2 * layout_->longest - 1});
};

TEST_F(AttentionWays, ComputeTheSame) {
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const bool first_only : {false, true}) {
      for (const double dropout : {0.0, 0.3}) {
        SCOPED_TRACE(concat(type, first_only ? ", first tokens" : "", ", dropout ", dropout));
        const Found fused = by(AttentionWay::fused, type, first_only, dropout);
        const Found padded = by(AttentionWay::padded, type, first_only, dropout);
        const double bound = type == at::kFloat ? 1e-5 : 5e-2;
        EXPECT_EQ(fused.y.scalar_type(), type);
        EXPECT_TRUE(at::allclose(fused.y, padded.y, bound, bound));
        for (std::size_t i = 0; i < 2; ++i) {
          EXPECT_TRUE(at::allclose(fused.gradients[i], padded.gradients[i], bound, 8 * bound)) << i;
        }
        const std::int64_t samples = layout_->offsets.back();
        ASSERT_LT(samples, layout_->tokens);
        EXPECT_TRUE(at::all(fused.gradients[0].slice(0, samples) == 0).item<bool>());
        if (first_only) continue;
        EXPECT_TRUE(at::all(fused.y.slice(0, samples) == 0).item<bool>());
      }
    }
  }
}

TEST_F(AttentionWays, AddTheSameForDistances) {
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const bool first_only : {false, true}) {
      SCOPED_TRACE(concat(type, first_only ? ", first tokens" : ""));
      const Found fused = by(AttentionWay::fused, type, first_only, 0.3, {}, true);
      const Found padded = by(AttentionWay::padded, type, first_only, 0.3, {}, true);
      const double bound = type == at::kFloat ? 1e-5 : 5e-2;
      EXPECT_TRUE(at::allclose(fused.y, padded.y, bound, bound));
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_TRUE(at::allclose(fused.gradients[i], padded.gradients[i], bound, 8 * bound)) << i;
      }
    }
  }
}

// Both ways, in samples that are shorter and longer than the window.
TEST_F(AttentionWays, SeeTheKeysInTheirWindowAndNoOthers) {
  for (const bool first_only : {false, true}) {
    for (const Window& window : {within(0), within(6), within(15), within(39), Window{.before = 0},
                                 Window{.after = 0}, Window{.before = 9, .after = 30}}) {
      SCOPED_TRACE(concat("window ", window.before, " and ", window.after,
                          first_only ? ", first tokens" : ""));
      const Found fused = by(AttentionWay::fused, at::kFloat, first_only, 0.3, window);
      const Found padded = by(AttentionWay::padded, at::kFloat, first_only, 0.3, window);
      EXPECT_TRUE(at::allclose(fused.y, padded.y, 1e-5, 1e-5));
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_TRUE(at::allclose(fused.gradients[i], padded.gradients[i], 1e-5, 1e-4)) << i;
      }
      const Found all = by(AttentionWay::fused, at::kFloat, first_only, 0.3);
      const bool sees_all = window.after >= 39 && (first_only || window.before >= 39);
      EXPECT_EQ(at::equal(fused.y, all.y), sees_all);
      // A query of the longest sample has no gradient of keys that it does not see.
      if (first_only) continue;
      const Tensor qkv = qkv_.clone().requires_grad_(true);
      const Heads heads{.count = kHeads, .size = kSize, .window = window};
      const Tensor y = attention(layout_, qkv, bias_, heads, {});
      const Tensor d = torch::autograd::grad({y[layout_->offsets[2] + 20].sum()}, {qkv})[0];
      const Tensor values = d.slice(1, 2 * kHeads * kSize).abs().sum(1);
      for (std::int64_t key = 0; key < 40; ++key) {
        const bool seen = values[layout_->offsets[2] + key].item<float>() > 0;
        EXPECT_EQ(seen, key >= 20 - window.before && key <= 20 + window.after) << key;
      }
    }
  }
}

// The same from the definition, sample by sample.
TEST_F(AttentionWays, AddWhatBelongsToTheDistance) {
  const Tensor relative = relative_.clone().requires_grad_(true);
  const std::int64_t middle = layout_->longest - 1;
  std::vector<Tensor> rows;
  for (int row = 0; row < layout_->rows; ++row) {
    const std::int64_t begin = layout_->offsets[static_cast<std::size_t>(row)];
    const Tensor own = (qkv_ + bias_).slice(0, begin, begin + layout_->length(row));
    const std::vector<Tensor> parts = own.view({-1, 3, kHeads, kSize}).transpose(0, 2).unbind(1);
    Tensor scores = parts[0].matmul(parts[1].transpose(1, 2)) / std::sqrt(double{kSize});
    const Tensor places = at::arange(layout_->length(row));
    const Tensor distances = places.unsqueeze(0) - places.unsqueeze(1);
    scores = scores + relative.index({at::arange(kHeads).view({-1, 1, 1}), distances + middle});
    const Tensor y = scores.softmax(-1).matmul(parts[2]);
    rows.push_back(y.transpose(0, 1).reshape({-1, kHeads * kSize}));
  }
  const Tensor right = at::cat(rows);
  const std::int64_t samples = layout_->offsets.back();
  const std::vector<Tensor> gradient =
      torch::autograd::grad({right}, {relative}, {dy_.slice(0, 0, samples)});
  for (const AttentionWay way : {AttentionWay::fused, AttentionWay::padded}) {
    const Found found = by(way, at::kFloat, false, 0, {}, true);
    EXPECT_TRUE(at::allclose(found.y.slice(0, 0, samples), right, 1e-5, 1e-5));
    EXPECT_TRUE(at::allclose(found.gradients[2], gradient[0], 1e-5, 1e-5));
  }
}

// Returns the scores of one sample in disentangled attention by the definition: [heads, n, n].
Tensor disentangled_scores(const EncoderSpec& spec, const Tensor& own, const Tensor& table) {
  const auto parts = [](const Tensor& x) { return x.view({-1, 3, kHeads, kSize}).transpose(0, 2); };
  const std::vector<Tensor> tokens = parts(own).unbind(1);
  const std::vector<Tensor> rows = parts(table).unbind(1);
  const std::int64_t count = own.size(0);
  Tensor buckets = at::empty({count, count}, at::kLong);
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < count; ++j) buckets[i][j] = distance_row(spec, j - i);
  }
  const Tensor keys = rows[1].index_select(1, buckets.view(-1)).view({kHeads, count, count, kSize});
  const Tensor queries =
      rows[0].index_select(1, buckets.view(-1)).view({kHeads, count, count, kSize});
  const Tensor sum = tokens[0].matmul(tokens[1].transpose(1, 2)) +
                     (tokens[0].unsqueeze(2) * keys).sum(-1) +
                     (tokens[1].unsqueeze(1) * queries).sum(-1);
  return sum / std::sqrt(3.0 * kSize);
}

// In samples that are longer than the buckets of single distances, sample by sample.
TEST_F(AttentionWays, AddTheProductsWithDistances) {
  EncoderSpec spec;
  spec.position_buckets = 8;
  spec.positions = 64;
  const Tensor table = at::randn({2 * spec.position_buckets, 3 * kHeads * kSize});
  const Tensor bias = at::randn({3 * kHeads * kSize});
  const Layout distances = distances_layout(spec, layout_->longest);
  const std::int64_t samples = layout_->offsets.back();
  for (const bool first_only : {false, true}) {
    const Tensor right_qkv = qkv_.clone().requires_grad_(true);
    const Tensor right_table = table.clone().requires_grad_(true);
    std::vector<Tensor> rows;
    for (int row = 0; row < layout_->rows; ++row) {
      const std::int64_t begin = layout_->offsets[static_cast<std::size_t>(row)];
      const Tensor own = (right_qkv + bias).slice(0, begin, begin + layout_->length(row));
      const Tensor values = own.view({-1, 3, kHeads, kSize}).select(1, 2).transpose(0, 1);
      const Tensor y =
          disentangled_scores(spec, own, right_table + bias).softmax(-1).matmul(values);
      const Tensor all = y.transpose(0, 1).reshape({-1, kHeads * kSize});
      rows.push_back(first_only ? all.slice(0, 0, 1) : all);
    }
    const Tensor right = at::cat(rows);
    const Tensor dy = dy_.slice(0, 0, right.size(0));
    const auto expected = torch::autograd::grad({right}, {right_qkv, right_table}, {dy});
    for (const AttentionWay way : {AttentionWay::fused, AttentionWay::padded}) {
      const Tensor qkv = qkv_.clone().requires_grad_(true);
      const Tensor own_table = table.clone().requires_grad_(true);
      const Heads heads{
          .count = kHeads, .size = kSize, .disentangled = true, .first_only = first_only};
      const Tensor scores =
          scores_by_distance(qkv, rows_by_distance(own_table, distances), bias, heads);
      const Tensor y = attention(layout_, qkv, bias, heads, {}, scores, way)
                           .slice(0, 0, first_only ? layout_->rows : samples);
      EXPECT_TRUE(at::allclose(y, right, 1e-5, 1e-5));
      const auto found = torch::autograd::grad({y}, {qkv, own_table}, {dy});
      EXPECT_TRUE(at::allclose(found[0], expected[0], 1e-5, 1e-4));
      EXPECT_TRUE(at::allclose(found[1], expected[1], 1e-4, 1e-4));
    }
  }
}

// The numbers are those of transformers 5.24.0's make_log_bucket_position(), plus the rows of a
// direction.
TEST(DistanceRow, IsThatOfTransformers) {
  EncoderSpec spec;
  spec.position_buckets = 256;
  spec.positions = 512;
  for (const auto& [distance, bucket] : {std::pair{0, 0},
                                         {1, 1},
                                         {128, 128},
                                         {129, 129},
                                         {130, 130},
                                         {200, 169},
                                         {300, 207},
                                         {400, 233},
                                         {500, 254},
                                         {511, 255},
                                         {2000, 255}}) {
    EXPECT_EQ(distance_row(spec, -distance), 256 + bucket) << distance;
    EXPECT_EQ(distance_row(spec, distance), 256 - (distance == 2000 ? 256 : bucket));
  }
}

// The numbers are those of transformers 5.24.0's MPNetEncoder.relative_position_bucket().
TEST(DistanceRow, IsTheBucketOfARelativeBias) {
  EncoderSpec spec;
  spec.relative_bias = true;
  const std::vector<std::pair<int, int>> buckets = {
      {0, 0},   {1, 17},   {7, 23},   {8, 24},   {9, 24}, {12, 25}, {16, 26}, {32, 28},
      {64, 30}, {127, 31}, {128, 31}, {400, 31}, {-1, 1}, {-8, 8},  {-9, 8},  {-128, 15}};
  for (const auto& [distance, bucket] : buckets) {
    EXPECT_EQ(distance_row(spec, distance), bucket) << distance;
  }
}

TEST_F(AttentionWays, FusedHasTheSameBitsWithAnyNumberOfThreads) {
  at::set_num_threads(1);
  const Found alone = by(AttentionWay::fused, at::kFloat, false, 0.3, {}, true);
  for (const int threads : {2, 3, 8}) {
    at::set_num_threads(threads);
    const Found found = by(AttentionWay::fused, at::kFloat, false, 0.3, {}, true);
    EXPECT_TRUE(at::equal(found.y, alone.y)) << threads;
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(at::equal(found.gradients[i], alone.gradients[i])) << threads << ", " << i;
    }
  }
}

}  // namespace
}  // namespace bp::trainer
