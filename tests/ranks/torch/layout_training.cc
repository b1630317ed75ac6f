#include "tests/ranks/torch/layout_training.h"

#include <gtest/gtest.h>
#include <torch/optim/optimizer.h>

#include "bp/torch/distributed_optimizer.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"

namespace bp::test {
namespace {

constexpr int kSteps = 20;
constexpr std::int64_t kRows = 32;
constexpr double kRate = 1e-2;

Rows rows_of(int step) { return make_rows(kRows, static_cast<std::uint64_t>(step)); }

}  // namespace

Outcome train_share(Communicator& world, int micro_batches, DataType wire) {
  const Mlp model;
  DistributedOptimizer optimizer(world, model.named_parameters(),
                                 make_optimizer("adamw", model.parameters(), kRate),
                                 {.micro_batches = micro_batches,
                                  .first_bucket_bytes = 256,
                                  .bucket_bytes = 1024,
                                  .wire = wire});
  // halves need one more, for the totals
  const std::size_t buckets = wire == DataType::f32 ? 4 : 5;
  EXPECT_EQ(optimizer.bucket_count(), world.size() == 1 ? 0U : buckets);
  Outcome outcome{.parameters = model.parameters()};
  const int parts = world.size() * micro_batches;
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < micro_batches; ++i) {
      const int part = world.rank() * micro_batches + i;
      const auto mine = rows_of(step).slice(kRows / parts * part, kRows / parts * (part + 1));
      optimizer.backward(model.loss(mine), mine.weight());
    }
    EXPECT_TRUE(optimizer.step());
    EXPECT_EQ(optimizer.window().weight, kRows);
    outcome.losses.push_back(optimizer.window().loss);
    expect_equal_on_all_ranks(world, bits(model.parameters()));
    EXPECT_EQ(optimizer.collectives(),
              optimizer.bucket_count() * static_cast<std::uint64_t>(step + 1));
  }
  return outcome;
}

Outcome train_without_bp() {
  const Mlp model;
  const auto optimizer = make_optimizer("adamw", model.parameters(), kRate);
  Outcome outcome{.parameters = model.parameters()};
  for (int step = 0; step < kSteps; ++step) {
    optimizer->zero_grad();
    const at::Tensor loss = model.loss(rows_of(step));
    loss.backward();
    optimizer->step();
    outcome.losses.push_back(loss.item<double>());
  }
  EXPECT_LT(outcome.losses.back(), outcome.losses.front() * 0.9) << "training must reduce the loss";
  return outcome;
}

void expect_close(const Outcome& a, const Outcome& b) {
  EXPECT_LT(distance(a.parameters, b.parameters), 2e-5);
  ASSERT_EQ(a.losses.size(), b.losses.size());
  for (std::size_t i = 0; i < a.losses.size(); ++i) {
    EXPECT_NEAR(a.losses[i], b.losses[i], 1e-6) << "step " << i;
  }
}

}  // namespace bp::test
