// The two ways to compute attention agree, and threads change no bit.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "base/text.h"
#include "trainer/model/passes/functions.h"
#include "trainer/model/passes/layout.h"

namespace bp::trainer {
namespace {

using at::Tensor;

constexpr int kHeads = 3;
constexpr int kSize = 12;

struct Found {
  Tensor y;
  std::vector<Tensor> gradients;  // of queries, keys and values, and of their bias
};

class AttentionWays : public ::testing::Test {
 protected:
  AttentionWays() { at::manual_seed(5); }
  ~AttentionWays() override { at::set_num_threads(threads_); }

  Found by(AttentionWay way, at::ScalarType type, bool first_only, double dropout) const {
    const Tensor qkv = qkv_.to(type).requires_grad_(true);
    const Tensor bias = bias_.clone().requires_grad_(true);
    Found found;
    found.y = attention(layout_, qkv, bias, kHeads, first_only, {dropout, 3, 4, 5}, way);
    // Rows that belong to no sample have no gradient.
    const Tensor dy = dy_.slice(0, 0, found.y.size(0)).to(type);
    found.gradients = torch::autograd::grad({found.y}, {qkv, bias}, {dy});
    return found;
  }

  const int threads_ = at::get_num_threads();
  const LayoutPtr layout_ =
      std::make_shared<const Layout>(make_layout({7, 1, 40, 23, 12}, {9, 8, 7, 6, 5}));
  const Tensor qkv_ = at::randn({layout_->tokens, 3 * kHeads* kSize});
  const Tensor bias_ = at::randn({3 * kHeads * kSize});
  const Tensor dy_ = at::randn({layout_->tokens, kHeads* kSize});
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

TEST_F(AttentionWays, FusedHasTheSameBitsWithAnyNumberOfThreads) {
  at::set_num_threads(1);
  const Found alone = by(AttentionWay::fused, at::kFloat, false, 0.3);
  for (const int threads : {2, 3, 8}) {
    at::set_num_threads(threads);
    const Found found = by(AttentionWay::fused, at::kFloat, false, 0.3);
    EXPECT_TRUE(at::equal(found.y, alone.y)) << threads;
    EXPECT_TRUE(at::equal(found.gradients[0], alone.gradients[0])) << threads;
    EXPECT_TRUE(at::equal(found.gradients[1], alone.gradients[1])) << threads;
  }
}

}  // namespace
}  // namespace bp::trainer
