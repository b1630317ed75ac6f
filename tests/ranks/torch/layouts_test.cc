// The same 32 rows in each step, however they are shared: equal parameters and losses.
#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>
#include <torch/optim/optimizer.h>

#include <numeric>

#include "bp/torch/distributed_optimizer.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"

namespace bp {
namespace {

using test::make_rows;
using test::Mlp;
using test::run_ranks;

constexpr int kSteps = 20;
constexpr std::int64_t kRows = 32;

struct Layout {
  std::vector<int> hosts;
  int micro_batches = 1;
};

struct Outcome {
  std::vector<at::Tensor> parameters;
  std::vector<double> losses;
};

// What rank 0 ends with; that all ranks are equal is checked after each step.
Outcome train(const Layout& layout) {
  Outcome outcome;
  const int ranks = std::accumulate(layout.hosts.begin(), layout.hosts.end(), 0);
  const auto body = [&](Communicator& world) {
    const Mlp model;
    DistributedOptimizer optimizer(
        world, model.named_parameters(), test::make_optimizer("adamw", model.parameters(), 1e-2),
        {.micro_batches = layout.micro_batches, .first_bucket_bytes = 256, .bucket_bytes = 1024});
    const int parts = world.size() * layout.micro_batches;
    for (int step = 0; step < kSteps; ++step) {
      const auto rows = make_rows(kRows, static_cast<std::uint64_t>(step));
      for (int i = 0; i < layout.micro_batches; ++i) {
        const int part = world.rank() * layout.micro_batches + i;
        const auto mine = rows.slice(kRows / parts * part, kRows / parts * (part + 1));
        optimizer.backward(model.loss(mine), mine.weight());
      }
      EXPECT_TRUE(optimizer.step());
      EXPECT_EQ(optimizer.window().weight, 32);
      test::expect_equal_on_all_ranks(world, test::bits(model.parameters()));
      EXPECT_EQ(optimizer.collectives(),
                optimizer.bucket_count() * static_cast<std::uint64_t>(step + 1));
      if (world.rank() == 0) {
        outcome.losses.push_back(optimizer.window().loss);
      }
    }
    EXPECT_EQ(optimizer.bucket_count(), world.size() == 1 ? 0U : 4U);
    if (world.rank() == 0) {
      outcome.parameters = model.parameters();
    }
  };
  run_ranks(ranks, body, {.local_sizes = layout.hosts});
  return outcome;
}

TEST(Layouts, AreEqualAfterTwentySteps) {
  const Outcome alone = train({.hosts = {1}});
  ASSERT_LT(alone.losses.back(), alone.losses.front() * 0.9) << "it must have learned something";
  const Layout others[] = {{.hosts = {4}}, {.hosts = {3, 1}}, {.hosts = {2}, .micro_batches = 2}};
  for (const Layout& layout : others) {
    const Outcome shared = train(layout);
    ASSERT_EQ(shared.losses.size(), alone.losses.size());
    for (std::size_t i = 0; i < alone.losses.size(); ++i) {
      EXPECT_NEAR(shared.losses[i], alone.losses[i], 1e-6) << "step " << i;
    }
    EXPECT_LT(test::distance(shared.parameters, alone.parameters), 2e-5);
  }
}

}  // namespace
}  // namespace bp
