// Two networks, each with an optimizer of its own, whose losses run through both. Each optimizer
// must take the gradients of its own backward() and no others.
#include <ATen/core/Tensor.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/tanh.h>
#include <gtest/gtest.h>
#include <torch/optim/optimizer.h>

#include "bp/torch/distributed_optimizer.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"

namespace bp {
namespace {

using test::bits;
using test::distance;
using test::make_rows;
using test::Mlp;
using test::Rows;

constexpr int kRounds = 8;
constexpr std::int64_t kRoundRows = 24;

// The generator maps features to features. The discriminator is the Mlp.
struct Gan {
  at::Tensor generator = Mlp(7).parameter(0).detach().slice(0, 0, 8).clone().requires_grad_();
  Mlp discriminator{1};

  [[nodiscard]] at::Tensor fake(const Rows& rows) const {
    return at::tanh(at::linear(rows.x.to(generator.device()), generator));
  }
  [[nodiscard]] std::vector<at::Tensor> all() const {
    std::vector<at::Tensor> tensors = discriminator.parameters();
    tensors.push_back(generator);
    return tensors;
  }
};

// Trains as a program with one process does. The generator's loss leaves gradients in the
// discriminator, which the next round's zero_grad() removes.
Gan train_plainly() {
  Gan gan;
  const auto d = test::make_optimizer("adam", gan.discriminator.parameters(), 0.01);
  const auto g = test::make_optimizer("sgd", {gan.generator}, 0.1);
  for (int round = 0; round < kRounds; ++round) {
    const Rows rows = make_rows(kRoundRows, static_cast<std::uint64_t>(round));
    d->zero_grad();
    const at::Tensor fake = gan.fake(rows);
    gan.discriminator.loss(rows).backward();
    gan.discriminator.loss({fake.detach(), rows.y.add(1).remainder(4)}).backward();
    d->step();
    g->zero_grad();
    gan.discriminator.loss({fake, rows.y}).backward();
    g->step();
  }
  return gan;
}

Gan train_share_of_gan(Communicator& world) {
  Gan gan;
  DistributedOptimizer d(world, gan.discriminator.named_parameters(),
                         test::make_optimizer("adam", gan.discriminator.parameters(), 0.01),
                         {.first_bucket_bytes = 256, .bucket_bytes = 1024});
  DistributedOptimizer g(world, {{"generator", gan.generator}},
                         test::make_optimizer("sgd", {gan.generator}, 0.1));
  for (int round = 0; round < kRounds; ++round) {
    const Rows all = make_rows(kRoundRows, static_cast<std::uint64_t>(round));
    const std::int64_t ranks = world.size();
    const Rows rows =
        all.slice(kRoundRows * world.rank() / ranks, kRoundRows * (world.rank() + 1) / ranks);
    const at::Tensor fake = gan.fake(rows);
    const at::Tensor of_fake = gan.discriminator.loss({fake.detach(), rows.y.add(1).remainder(4)});
    d.backward(gan.discriminator.loss(rows).add(of_fake), rows.weight());
    EXPECT_TRUE(d.step());
    g.backward(gan.discriminator.loss({fake, rows.y}), rows.weight());
    for (const at::Tensor& parameter : gan.discriminator.parameters()) {
      EXPECT_FALSE(parameter.grad().defined())
          << "the generator's loss must leave no gradient in the discriminator";
    }
    EXPECT_TRUE(g.step());
    test::expect_equal_on_all_ranks(world, bits(gan.all()));
  }
  return gan;
}

// docs/acceptance.md, Optimizer: Two losses and two optimizers train a GAN as one process does.
// docs/features.md, Models and losses: A small network as a first try | `examples/own_model`
TEST(TwoOptimizers, TrainAGanAsOneProcessDoesOnAnyNumberOfRanks) {
  const Gan plain = train_plainly();
  EXPECT_GT(distance(plain.all(), Gan().all()), 0.01) << "training must change the parameters";
  for (const int ranks : {1, 2, 3, 5}) {
    test::run_ranks(ranks, [&](Communicator& world) {
      EXPECT_LT(distance(train_share_of_gan(world).all(), plain.all()), 2e-5) << ranks << " ranks";
    });
  }
}

// A loss of the generator within a window of the discriminator adds nothing to that window.
TEST(TwoOptimizers, BackwardOfOneLeavesTheWindowOfTheOther) {
  test::run_ranks(2, [](Communicator& world) {
    const Gan gan;
    const Gan reference;
    const auto train = [&](const Gan& of, bool interfere) {
      DistributedOptimizer d(world, of.discriminator.named_parameters(),
                             test::make_optimizer("sgd", of.discriminator.parameters(), 0.1),
                             {.micro_batches = 2});
      DistributedOptimizer g(world, {{"generator", of.generator}},
                             test::make_optimizer("sgd", {of.generator}, 0.1));
      const Rows rows = make_rows(4, static_cast<std::uint64_t>(world.rank()));
      d.backward(of.discriminator.loss(rows), 4);
      if (interfere) {
        g.backward(of.discriminator.loss({of.fake(rows), rows.y}), 4);
        EXPECT_TRUE(g.step());
      }
      d.backward(of.discriminator.loss(rows), 4);
      EXPECT_TRUE(d.step());
    };
    train(gan, true);
    train(reference, false);
    EXPECT_EQ(bits(gan.discriminator.parameters()), bits(reference.discriminator.parameters()));
    EXPECT_GT(distance({gan.generator}, {reference.generator}), 0);
  });
}

}  // namespace
}  // namespace bp
