// Sums over whole gradients, of which each rank of a host has a part: their bits do not depend on
// the division.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "bp/torch/distributed_optimizer.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"

namespace bp {
namespace {

using test::run_ranks;

constexpr std::int64_t kPiece = 65536;

// Two parameters of more than a piece, one of them kept by columns, and a short one.
struct Waves {
  at::Tensor turned = wave(1).slice(0, 0, 210000).view({700, 300}).t().requires_grad_();
  at::Tensor tall = wave(2).slice(0, 0, 2 * kPiece).view({kPiece, 2}).requires_grad_();
  at::Tensor low = wave(3).slice(0, 0, 100).requires_grad_();

  static at::Tensor wave(double seed) {
    return (at::arange(300000, at::kDouble) * 0.37 + seed).sin().mul(0.1).to(at::kFloat);
  }
  [[nodiscard]] std::vector<at::Tensor> all() const { return {turned, tall, low}; }
  [[nodiscard]] NamedTensors named() const {
    return {{"turned", turned}, {"tall", tall}, {"low", low}};
  }
  // Has the gradient of `seed`, whatever the parameters are.
  [[nodiscard]] at::Tensor loss(double seed) const {
    const at::Tensor slope = wave(seed);
    return (turned * slope.slice(0, 0, 210000).view({300, 700})).sum() +
           (tall * slope.slice(0, 5, 2 * kPiece + 5).view({kPiece, 2})).sum() +
           (low * slope.slice(0, 7, 107)).sum();
  }
};

// docs/acceptance.md, Optimizer: The norm of equal gradients has the same bits on 1, 2 and 4 ranks.
TEST(WholeSums, TheNormOfGradientsHasTheSameBitsOnAnyNumberOfRanks) {
  std::vector<double> norms;
  for (const int ranks : {1, 2, 4}) {
    for (const Shard shard : {Shard::none, Shard::automatic}) {
      const auto body = [&](Communicator& world) {
        const Waves waves;
        DistributedOptimizer optimizer(
            world, waves.named(), test::make_optimizer("sgd", waves.all(), 0.1), {.shard = shard});
        optimizer.backward(waves.loss(4), 1);
        const double norm = optimizer.clip_grad_norm(1e6);
        if (world.rank() == 0) norms.push_back(norm);
      };
      run_ranks(ranks, body, {.wire = test::Wire::shm});
    }
  }
  EXPECT_GT(norms[0], 10);
  EXPECT_THAT(norms, ::testing::Each(norms[0]));
}

}  // namespace
}  // namespace bp
