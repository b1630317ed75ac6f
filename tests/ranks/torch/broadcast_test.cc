// broadcast_parameters() gives all ranks the root's parameters and optimizer state, bit for bit.
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>
#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>

#include "bp/torch/collective.h"
#include "bp/torch/distributed_optimizer.h"
#include "bp/torch/make_distributed.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"
#include "trainer/optim/adamw.h"

namespace bp {
namespace {

using test::bits;
using test::make_rows;
using test::Mlp;
using test::run_ranks;

std::unique_ptr<torch::optim::Optimizer> make(const std::string& kind, const Mlp& model) {
  if (kind == "fused-adamw") {
    return trainer::make_fused_adamw({{.parameters = model.parameters(), .weight_decay = 0.1}},
                                     {.lr = 0.01});
  }
  return test::make_optimizer(kind, model.parameters(), 0.01);
}

void train_alone(const Mlp& model, torch::optim::Optimizer& optimizer, int steps, int seed) {
  for (int i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    model.loss(make_rows(8, static_cast<std::uint64_t>(seed + i))).backward();
    optimizer.step();
  }
  optimizer.zero_grad();
}

class Broadcast : public ::testing::TestWithParam<std::string> {};

// Each rank has other parameters and has made another number of steps. The root is rank 1.
// docs/acceptance.md, Optimizer: broadcast_parameters() gives all ranks the root's parameters and
// optimizer state.
// docs/features.md, Gradients: Weights from rank 0 | `broadcast_parameters()`
TEST_P(Broadcast, EveryRankContinuesAsTheRoot) {
  const Mlp alone(1);
  const auto reference = make(GetParam(), alone);
  train_alone(alone, *reference, 3, 100);
  const std::string at_broadcast = bits(alone.parameters());
  train_alone(alone, *reference, 2, 500);

  run_ranks(3, [&](Communicator& world) {
    const Mlp model(static_cast<std::uint64_t>(world.rank()));
    auto optimizer = make(GetParam(), model);
    train_alone(model, *optimizer, 2 + world.rank(), 100);
    // The comparison can be exact only if the learning rates are broadcast too.
    optimizer->param_groups()[0].options().set_lr(world.rank() == 1 ? 0.01 : 7);
    auto* const bare = optimizer.get();
    {
      DistributedOptimizer distributed(world, model.named_parameters(), std::move(optimizer));
      distributed.broadcast_parameters(1);
      EXPECT_EQ(bits(model.parameters()), at_broadcast);
      for (int i = 0; i < 2; ++i) {
        const auto rows = make_rows(8, static_cast<std::uint64_t>(500 + i));
        distributed.backward(model.loss(rows), world.rank() == 1 ? 8 : 0);
        distributed.step();
      }
      EXPECT_EQ(bare->param_groups()[0].options().get_lr(), 0.01);
    }
    EXPECT_EQ(bits(model.parameters()), bits(alone.parameters()));
  });
}

TEST_P(Broadcast, StateThatTheRootDoesNotHaveIsDropped) {
  const Mlp alone(1);
  const auto reference = make(GetParam(), alone);
  train_alone(alone, *reference, 2, 500);

  run_ranks(2, [&](Communicator& world) {
    const Mlp model(1);
    auto optimizer = make(GetParam(), model);
    if (world.rank() == 1) {
      train_alone(model, *optimizer, 5, 100);
    }
    DistributedOptimizer distributed(world, model.named_parameters(), std::move(optimizer));
    distributed.broadcast_parameters();
    for (int i = 0; i < 2; ++i) {
      const auto rows = make_rows(8, static_cast<std::uint64_t>(500 + i));
      distributed.backward(model.loss(rows), world.rank() == 0 ? 8 : 0);
      distributed.step();
    }
    EXPECT_EQ(bits(model.parameters()), bits(alone.parameters()));
  });
}

std::vector<std::string> kinds() {
  auto all = test::optimizer_kinds();
  all.emplace_back("fused-adamw");
  return all;
}

std::string name_of_kind(const ::testing::TestParamInfo<std::string>& kind) {
  std::string name = kind.param;
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Optimizers, Broadcast, ::testing::ValuesIn(kinds()), name_of_kind);

// docs/acceptance.md, Optimizer: A broadcast of parameters includes frozen ones, tensors with
// strides, and other types.
TEST(BroadcastOfTensors, IncludesFrozenAndStridedTensorsAndOtherTypes) {
  run_ranks(2, [&](Communicator& world) {
    const c10::Device here = test::tensor_device();
    const double mine = world.rank() == 0 ? 1 : 0;
    const at::Tensor strided = at::arange(6, at::kFloat).reshape({2, 3}).mul(mine).t().to(here);
    const at::Tensor flags = at::zeros({3}, at::kBool).fill_(mine).to(here);
    const at::Tensor trained = at::zeros({2}).fill_(mine).to(here).requires_grad_();
    DistributedOptimizer optimizer(world,
                                   {{"strided", strided}, {"flags", flags}, {"trained", trained}},
                                   test::make_optimizer("sgd", {trained}, 0.1));
    optimizer.broadcast_parameters();
    EXPECT_EQ(strided[2][1].item<double>(), 5);
    EXPECT_EQ(flags.all().item<bool>(), true);
    EXPECT_EQ(trained.sum().item<double>(), 2);
  });
}

TEST(TensorCollectives, WorkInPlace) {
  run_ranks(3, [&](Communicator& world) {
    at::Tensor tensor = at::arange(4, at::kFloat).to(test::tensor_device()).mul(world.rank() + 1);
    all_reduce(world, tensor, {.name = "tensor"});
    EXPECT_EQ(tensor[3].item<double>(), 18);
    tensor.fill_(world.rank());
    broadcast(world, tensor, {.root = 2, .name = "tensor"});
    EXPECT_EQ(tensor.sum().item<double>(), 8);
  });
}

TEST(OwnRows, OfAllRanksAreTheWholeInOrder) {
  run_ranks(3, [](Communicator& world) {
    const at::Tensor whole = at::arange(14, at::kFloat).reshape({7, 2});
    const at::Tensor mine = own_rows(world, whole);
    EXPECT_EQ(mine.size(0), world.rank() == 0 ? 3 : 2);
    EXPECT_EQ(mine[0][0].item<double>(), world.rank() == 0 ? 0 : 4 * world.rank() + 2);
  });
}

TEST(MakeDistributed, WrapsAModulesOptimizerAndStartsAllRanksAsRankZero) {
  run_ranks(3, [](Communicator& world) {
    torch::nn::Linear model(3, 2);
    {
      const at::NoGradGuard no_grad;
      model->weight.fill_(world.rank() + 1);
    }
    auto optimizer = make_distributed<torch::optim::Adam>(
        world, *model, torch::optim::AdamOptions(0.5), {.micro_batches = 2});
    EXPECT_EQ(model->weight.sum().item<double>(), 6);
    EXPECT_EQ(optimizer.optimizer().param_groups()[0].options().get_lr(), 0.5);
    optimizer.backward(model->forward(at::ones({1, 3})).sum(), 1);
    optimizer.backward(model->forward(at::ones({1, 3})).sum(), 1);
    EXPECT_TRUE(optimizer.step());
    EXPECT_LT(model->weight.sum().item<double>(), 6);
    test::expect_equal_on_all_ranks(world, bits(model->parameters()));
  });
}

}  // namespace
}  // namespace bp
