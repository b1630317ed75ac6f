#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>
#include <torch/optim/optimizer.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "bp/torch/distributed_optimizer.h"
#include "tests/ranks/torch/given_gradients.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"

namespace bp {
namespace {

using test::make_rows;
using test::Mlp;
using test::run_ranks;

std::string bytes_of(double value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

double norm_of(const Mlp& model) {
  double squares = 0;
  for (const auto& parameter : model.parameters()) {
    squares += std::pow(parameter.grad().to(at::kDouble).norm().item<double>(), 2);
  }
  return std::sqrt(squares);
}

// docs/acceptance.md, Optimizer: Clipping sees the reduced gradient, with the same bits on all
// ranks.
// docs/features.md, Optimization: Clipping by norm | `--clip`
TEST(Clip, NormIsThatOfTheReducedGradientAndTheSameBitsOnAllRanks) {
  const auto rows = make_rows(21, 3);
  const Mlp exact(1, at::kDouble);
  exact.loss(rows).backward();
  run_ranks(3, [&](Communicator& world) {
    const Mlp model;
    DistributedOptimizer optimizer(world, model.named_parameters(),
                                   test::make_optimizer("sgd", model.parameters(), 0.1),
                                   {.micro_batches = 2, .first_bucket_bytes = 256});
    // The parts have 4, 7 and 10 rows, so the sum of weights is not 1.
    const std::array<std::int64_t, 4> cuts = {0, 4, 11, 21};
    const auto r = static_cast<std::size_t>(world.rank());
    const auto mine = rows.slice(cuts[r], cuts[r + 1]);
    optimizer.backward(model.loss(mine), mine.weight());
    const double norm = optimizer.clip_grad_norm(0.1);  // clip_grad_norm() reduces first
    EXPECT_NEAR(norm, norm_of(exact), 1e-6);
    EXPECT_GT(norm, 0.2);
    EXPECT_LE(norm_of(model), 0.1);
    EXPECT_GT(norm_of(model), 0.0999);
    test::expect_equal_on_all_ranks(world, bytes_of(norm));
    test::expect_equal_on_all_ranks(world, test::gradient_bits(model));
    EXPECT_EQ(optimizer.collectives(), optimizer.bucket_count());
    EXPECT_TRUE(optimizer.step());
    test::expect_equal_on_all_ranks(world, test::bits(model.parameters()));
  });
}

// Equal but for the last bit: a gradient that was reduced before is multiplied twice, else once.
// docs/acceptance.md, Optimizer: reduce() and step() may be two calls, because step() reduces only
// what is not reduced yet.
TEST(Clip, AfterReduceGivesTheSame) {
  const auto rows = make_rows(21, 3);
  run_ranks(2, [&](Communicator& world) {
    const auto mine = world.rank() == 0 ? rows.slice(0, 8) : rows.slice(8, 21);
    std::array<double, 2> norms{};
    std::array<std::vector<at::Tensor>, 2> gradients;
    for (const bool reduce_first : {false, true}) {
      const Mlp model;
      DistributedOptimizer optimizer(world, model.named_parameters(),
                                     test::make_optimizer("sgd", model.parameters(), 0.1));
      optimizer.backward(model.loss(mine), mine.weight());  // summed for 16 rows, divided by 21
      if (reduce_first) optimizer.reduce();
      norms[reduce_first ? 1 : 0] = optimizer.clip_grad_norm(0.1);
      EXPECT_NEAR(norm_of(model), 0.1, 1e-4);
      for (const auto& parameter : model.parameters()) {
        gradients[reduce_first ? 1 : 0].push_back(parameter.grad().clone());
      }
      test::expect_equal_on_all_ranks(world, test::gradient_bits(model));
    }
    EXPECT_NEAR(norms[0], norms[1], 1e-6 * norms[0]);
    EXPECT_LT(test::distance(gradients[0], gradients[1]), 1e-8);
  });
}

// In place, or by another tensor.
// docs/acceptance.md, Optimizer: Clipping sees a gradient that the program has changed after
// reduce().
TEST(Clip, SeesAGradientThatTheProgramHasChanged) {
  for (const int ranks : {1, 2}) {
    run_ranks(ranks, [](Communicator& world) {
      test::GivenGradients rank(world, 2, {});
      rank.backward({3, 4});
      rank.optimizer().reduce();
      rank.tensor().mutable_grad().mul_(2);
      EXPECT_EQ(rank.optimizer().clip_grad_norm(100), 10);
      EXPECT_EQ(rank.optimizer().clip_grad_norm(1), 10);
      EXPECT_NEAR(rank.optimizer().clip_grad_norm(1), 1, 1e-5) << "the norm of what is clipped";
      rank.tensor().mutable_grad() = at::tensor({3.0F, 4.0F}).to(test::tensor_device());
      EXPECT_EQ(rank.optimizer().clip_grad_norm(2.5), 5);
      rank.optimizer().step();
      EXPECT_NEAR(rank.parameter()[1], -2, 1e-5);
    });
  }
}

}  // namespace
}  // namespace bp
