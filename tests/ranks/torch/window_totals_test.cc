// What the totals of a window carry, in which types its gradients are reduced, and what nominal
// weights change.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include "bp/collective.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/ranks/torch/window_rank.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"

namespace bp {
namespace {

using test::bits;
using test::distance;
using test::gradient_bits;
using test::make_rows;
using test::Mlp;
using test::run_ranks;

// docs/acceptance.md, Optimizer: Weights are scaled by a nominal weight, so that halves on the wire
// stay in range.
TEST(Window, NominalWeightIsRankZerosFirstOrTheOption) {
  run_ranks(2, [&](Communicator& world) {
    WindowRank rank(world, {.micro_batches = 3});
    EXPECT_EQ(rank.optimizer->nominal_weight(), 0);
    rank.backward(make_rows(world.rank() == 0 ? 4 : 9, 1));
    EXPECT_EQ(rank.optimizer->nominal_weight(), 24);
    rank.optimizer->step();
    Mlp other;
    DistributedOptimizer chosen(world, other.named_parameters(),
                                test::make_optimizer("sgd", other.parameters(), 0.1),
                                {.nominal_weight = 7});
    chosen.step();
    EXPECT_EQ(chosen.nominal_weight(), 7);
    WindowRank filler(world);
    filler.optimizer->backward(at::Tensor(), 0);
    EXPECT_EQ(filler.optimizer->nominal_weight(), 1);
    filler.optimizer->step();
  });
}

TEST(Window, NominalWeightDoesNotChangeTheResult) {
  const auto rows = make_rows(13, 7);
  const Mlp exact(1, at::kDouble);
  exact.loss(rows).backward();
  run_ranks(2, [&](Communicator& world) {
    const auto mine = world.rank() == 0 ? rows.slice(0, 4) : rows.slice(4, 13);
    for (const double nominal : {0.0, 0.125, 1.0, 7.0, 1e6}) {
      WindowRank rank(world, {.nominal_weight = nominal});
      rank.backward(mine);
      rank.optimizer->reduce();
      for (std::size_t i = 0; i < exact.parameters().size(); ++i) {
        EXPECT_LT(distance({rank.model.parameters()[i].grad()}, {exact.parameters()[i].grad()}),
                  1e-6)
            << nominal << ", parameter " << i;
      }
      test::expect_equal_on_all_ranks(world, gradient_bits(rank.model));
    }
  });
}

// docs/acceptance.md, Optimizer: A model in half precision is reduced in its own type, with the
// totals in floats.
TEST(Window, HalvesAreReducedInTheirOwnTypeWithTheTotalsInFloats) {
  run_ranks(2, [&](Communicator& world) {
    WindowRank rank(world, {}, at::kBFloat16);
    rank.optimizer->backward(rank.model.parameter(1).sum().mul(world.rank() + 1), 3);
    EXPECT_TRUE(rank.optimizer->step());
    EXPECT_EQ(rank.optimizer->window().weight, 6);
    test::expect_equal_on_all_ranks(world, bits(rank.model.parameters()));
    const auto moved = Mlp(1, at::kBFloat16).parameters()[1].sub(rank.model.parameter(1));
    EXPECT_NEAR(moved.mean().item<double>(), 0.15, 0.01);  // lr x the mean of 1 and 2
  });
}

// The exact mean of 1, 2 and 4 with weights that no f32 holds.
TEST(Window, WeightsAndLossAreAddedAsDoubles) {
  for (const double unit : {0.1, 16777217.0, 1e-300}) {
    run_ranks(3, [&](Communicator& world) {
      WindowRank rank(world, {}, at::kDouble);
      const double mine = unit * (world.rank() + 1);
      const at::Tensor loss = rank.model.parameter(1).sum() * (1 << world.rank());
      rank.optimizer->backward(loss, mine);
      rank.optimizer->reduce();
      const double weight = unit * 1 + unit * 2 + unit * 3;
      EXPECT_EQ(rank.optimizer->window().weight, weight);
      EXPECT_DOUBLE_EQ(rank.model.parameter(1).grad()[0].item<double>(), 17.0 / 6);
      const double sum = Mlp(1, at::kDouble).parameter(1).sum().item<double>();
      EXPECT_DOUBLE_EQ(rank.optimizer->window().loss, sum * 17 / 6);
    });
  }
}

TEST(Window, ResidualOfAParameterWithoutGradientWaitsForTheNextOne) {
  run_ranks(2, [](Communicator& world) {
    WindowRank rank(world, {.nominal_weight = 2, .wire = DataType::bf16, .error_feedback = true});
    const auto residual_of_bias = [&] {
      for (const auto& [name, residual] : rank.optimizer->state().residuals) {
        if (name == "layer0.bias") return residual.abs().max().item<double>();
      }
      return 0.0;
    };
    const auto backward = [&](std::size_t parameter) {
      rank.optimizer->backward(rank.model.parameter(parameter).sum() * (1 + 0x1p-13), 1);
      EXPECT_TRUE(rank.optimizer->step());
    };
    backward(1);
    const double residual = residual_of_bias();
    EXPECT_EQ(residual, 0x1p-14);
    backward(3);
    EXPECT_EQ(residual_of_bias(), residual);
  });
}

TEST(Window, DoublesStayDoubles) {
  run_ranks(2, [&](Communicator& world) {
    const auto rows = make_rows(8, 1);
    const Mlp exact(1, at::kDouble);
    exact.loss(rows).backward();
    WindowRank rank(world, {}, at::kDouble);
    rank.backward(rows.slice(world.rank() * 4, world.rank() * 4 + 4));
    rank.optimizer->reduce();
    EXPECT_LT(distance({rank.model.parameters()[0].grad()}, {exact.parameters()[0].grad()}), 1e-15);
  });
}

}  // namespace
}  // namespace bp
