// The layouts again with ranks that are processes: over Gloo, beside LibTorch's own Gloo, and in
// shared memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "bp/torch/distributed_optimizer.h"
#include "tests/ranks/torch/layout_training.h"
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

// docs/features.md, Gradients: Gradients sent in fp16 or bf16 | `--wire`, `--error-feedback`
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

}  // namespace
}  // namespace bp::test
