// The layouts again with ranks that are processes: over Gloo, beside LibTorch's own Gloo, and in
// shared memory.
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/optimizer.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bp/communicator.h"
#include "bp/error.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/ranks/torch/layout_training.h"
#include "tests/ranks/torch/sharded_training.h"
#include "tests/support/run_processes.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"
#include "trainer/optim/optimizer.h"

namespace bp::test {
namespace {

RANK_BODY(train) {
  Communicator world = Communicator::create();
  EXPECT_EQ(world.backend(), world.topology().hosts() == 1 ? "shm" : "gloo+shm");
  expect_close(train_share(world, std::stoi(std::getenv("MICRO_BATCHES"))), train_without_bp());
  world.finish();
  return 0;
}

// docs/features.md, Launching: Horovod's manner of training | `bp::comm`,
// `bp::DistributedOptimizer`
TEST(TorchProcesses, ThreeOnOneHostAndOneOnAnother) {
  run_processes(
      "train",
      {.ranks = 4, .local_sizes = {3, 1}, .environment = {"MICRO_BATCHES=1", "OMP_NUM_THREADS=1"}});
}

// train_share() checks after each step that the ranks are equal.
RANK_BODY(train_with_halves_on_the_wire) {
  Communicator world = Communicator::create();
  const Outcome outcome = train_share(world, 1, DataType::f16);
  EXPECT_NEAR(outcome.losses.back(), train_without_bp().losses.back(), 5e-3);
  world.finish();
  return 0;
}

// docs/features.md, Gradients: Gradients sent in fp16, bf16 or int8 | `--wire`, `--error-feedback`
TEST(TorchProcesses, HalvesOnTheWire) {
  run_processes("train_with_halves_on_the_wire",
                {.ranks = 4, .local_sizes = {3, 1}, .environment = {"OMP_NUM_THREADS=1"}});
}

RANK_BODY(another_kind_of_processor) {
  Communicator world = Communicator::create();
  if (world.rank() == 1) setenv("ATEN_CPU_CAPABILITY", "default", 1);
  static_cast<void>(train_share(world, 1));
  return 0;
}

// docs/acceptance.md, Disagreement and misuse: Processors whose steps round otherwise are named
// before training.
TEST(TorchProcesses, ProcessorsWhoseStepsRoundOtherwiseAreNamed) {
  const auto ends = try_processes("another_kind_of_processor", {.ranks = 2});
  for (const auto& end : ends) {
    EXPECT_THAT(end.output,
                testing::HasSubstr("rank 1 has \"steps without AVX2 (ATEN_CPU_CAPABILITY)\" where "
                                   "rank 0 has \"steps with AVX2 (ATEN_CPU_CAPABILITY)\""));
  }
}

RANK_BODY(steps_on_any_processor) {
  Communicator world = Communicator::create();
  if (world.rank() == 1) setenv("ATEN_CPU_CAPABILITY", "default", 1);
  for (const char* const name : {"lion", "lamb", "adadelta"}) {
    const Mlp model;
    trainer::TrainOptions options;
    options.optimizer = name;
    auto own = trainer::make_optimizer(model.named_parameters(), options);
    trainer::set_learning_rate(*own, 0.01);
    DistributedOptimizer optimizer(world, model.named_parameters(), std::move(own));
    for (std::uint64_t step = 0; step < 20; ++step) {
      optimizer.backward(
          model.loss(make_rows(8, 2 * step + static_cast<std::uint64_t>(world.rank()))), 8);
      optimizer.step();
    }
    expect_equal_on_all_ranks(world, bits(model.parameters()));
  }
  world.finish();
  return testing::Test::HasFailure() ? 1 : 0;
}

TEST(TorchProcesses, OptimizersThatStepAlikeOnAllProcessorsAreNotRefused) {
  run_processes("steps_on_any_processor", {.ranks = 2, .environment = {"OMP_NUM_THREADS=1"}});
}

TEST(TorchProcesses, TwoRanksThatAccumulate) {
  run_processes("train", {.ranks = 2, .environment = {"MICRO_BATCHES=2", "OMP_NUM_THREADS=1"}});
}

// Trains for three windows, from `state` if there is one, and returns the optimizer.
std::unique_ptr<DistributedOptimizer> train_three(Communicator& world,
                                                  const Net& net,
                                                  Shard shard,
                                                  const std::string& state) {
  auto inner = adamw(net.trained());
  if (!state.empty()) load(*inner, state);
  auto optimizer = std::make_unique<DistributedOptimizer>(
      world, net.named(), std::move(inner), DistributedOptimizerOptions{.shard = shard},
      DistributedOptimizer::Start::from_rank_0);
  for (int window = 0; window < 3; ++window) {
    optimizer->backward(net.loss(window + 9 * world.rank()), 1);
    EXPECT_TRUE(optimizer->step());
  }
  optimizer->gather_state();
  return optimizer;
}

// The state of the lost rank's part is lost with it, so the others go on from what they have saved.
RANK_BODY(lose_a_rank_that_owns_a_part) {
  const bool divides = std::getenv("DIVIDES") != nullptr;
  const Shard shard = divides ? Shard::gradients : Shard::host;
  Communicator world = Communicator::create();
  Net net;
  auto optimizer = train_three(world, net, shard, "");
  const bool has_state = is_gathered(world);
  const std::string state = has_state ? saved(optimizer->optimizer()) : "";
  std::vector<at::Tensor> parameters;
  for (const at::Tensor& one : net.trained()) parameters.push_back(one.detach().clone());
  try {
    optimizer->backward(net.loss(1), 1);
    if (world.rank() == 2) ::raise(SIGKILL);
    (void)optimizer->step();
    return 1;
  } catch (const Error&) {
    optimizer.reset();
  }
  Communicator rest = world.recover();
  std::vector<std::string> results;
  for (const Shard again : {shard, Shard::none}) {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < parameters.size(); ++i) net.trained()[i].copy_(parameters[i]);
    const at::AutoGradMode with_grad(true);
    optimizer = train_three(rest, net, again, state);
    results.push_back(bits(net.trained()));
    expect_equal_on_all_ranks(rest, results.back());
    results.push_back(is_gathered(rest) ? state_bits(optimizer->optimizer(), net.trained()) : "");
    optimizer.reset();
  }
  EXPECT_TRUE(results[0] == results[2]) << "parameters";
  EXPECT_TRUE(!is_gathered(rest) || results[1] == results[3]) << "state";
  rest.finish();
  return 0;
}

// docs/acceptance.md, Recovery and restarts: The survivors of a rank that owned a part of the state
// go on from a saved one, with shards and the bits of ranks without.
TEST(TorchProcesses, SurvivorsOfARankThatOwnedAPartGoOnFromASavedState) {
  for (const char* const divides : {"DIVIDES=1", "KEEPS=1"}) {
    const auto ends = try_processes("lose_a_rank_that_owns_a_part",
                                    {.ranks = 4,
                                     .local_sizes = {3, 1},
                                     .environment = {divides, "OMP_NUM_THREADS=1"},
                                     .survivors_go_on = true});
    for (int rank = 0; rank < 4; ++rank) {
      const ProcessResult& end = ends[static_cast<std::size_t>(rank)];
      if (rank == 2) {
        EXPECT_EQ(end.signal, SIGKILL);
      } else {
        EXPECT_EQ(end.exit_code, 0) << divides << "\n" << end.output;
      }
    }
  }
}

}  // namespace
}  // namespace bp::test
