// What makes the ranks' parameters drift apart without touching a gradient is named at the next
// step.
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/adamw.h>
#include <torch/optim/optimizer.h>

#include <string>

#include "bp/torch/distributed_optimizer.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"

namespace bp {
namespace {

using test::make_rows;
using test::Mlp;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Training {
  Training(Communicator& comm,
           const std::string& kind,
           const DistributedOptimizerOptions& options = {})
      : world(comm),
        optimizer(comm,
                  model.named_parameters(),
                  test::make_optimizer(kind, model.parameters(), 0.1),
                  options) {}
  void backward() {
    optimizer.backward(model.loss(make_rows(4, static_cast<std::uint64_t>(world.rank()))), 4);
  }
  void step() {
    backward();
    EXPECT_TRUE(optimizer.step());
  }
  torch::optim::OptimizerOptions& options() {
    return optimizer.optimizer().param_groups()[0].options();
  }

  Communicator& world;
  Mlp model;
  DistributedOptimizer optimizer;
};

constexpr const char* kAdvice =
    "begin with broadcast_parameters(), give the wrapped optimizer the same options and state on "
    "every rank, write parameters, and gradients after reduce(), only with the same values on "
    "every rank, clip by clip_grad_norm(), and call step() of the DistributedOptimizer, not of "
    "optimizer()";

// docs/features.md, Gradients: A check that options of the optimizer are equal on all ranks |
// always
TEST(StepAgreement, LearningRateThatDiffersOnOneRankIsNamedBeforeTheStep) {
  for (const std::string& kind : test::optimizer_kinds()) {
    std::string before;
    std::string after;
    const auto ends = test::try_ranks(3, [&](Communicator& world) {
      Training run(world, kind);
      run.step();
      if (world.rank() == 1) run.options().set_lr(0.05);
      if (world.rank() == 0) before = test::bits(run.model.parameters());
      try {
        run.step();
      } catch (...) {
        if (world.rank() == 0) after = test::bits(run.model.parameters());
        throw;
      }
    });
    EXPECT_THAT(ends, Each(testing::StrEq(
                          std::string("mismatch: DistributedOptimizer::step: rank 1 has \"group 0 "
                                      "lr 0.05\" where rank 0 has \"group 0 lr 0.1\": ") +
                          kAdvice)))
        << kind;
    EXPECT_EQ(before, after) << kind;
  }
}

TEST(StepAgreement, AnyOtherOptionIsNamedToo) {
  const auto ends = test::try_ranks(2, [](Communicator& world) {
    Training run(world, "adamw");
    auto& options = static_cast<torch::optim::AdamWOptions&>(run.options());
    options.eps(world.rank() == 0 ? 1e-8 : 1.0000001e-8);
    run.step();
  });
  EXPECT_THAT(ends, Each(HasSubstr("rank 1 has \"group 0 eps 1.0000001e-08\" where rank 0 has "
                                   "\"group 0 eps 1e-08\"")));
}

TEST(StepAgreement, StepOfTheWrappedOptimizerByHandIsNamedAtTheNextStep) {
  const auto ends = test::try_ranks(2, [](Communicator& world) {
    Training run(world, "sgd", {.micro_batches = 2});
    for (int i = 0; i < 2; ++i) {
      run.backward();
      if (i == 1) run.optimizer.optimizer().step();
      run.backward();
      EXPECT_TRUE(run.optimizer.step());
      EXPECT_EQ(i, 0);
    }
  });
  EXPECT_THAT(ends, Each(AllOf(StartsWith("mismatch: DistributedOptimizer::step: rank 1 has "
                                          "\"layer0.weight with bits "),
                               HasSubstr(kAdvice))));
}

TEST(StepAgreement, ParameterThatOneRankWritesIsNamed) {
  const auto ends = test::try_ranks(2, [](Communicator& world) {
    Training run(world, "sgd");
    run.step();
    const at::NoGradGuard no_grad;
    if (world.rank() == 0) run.model.parameter(3).mul_(0.5);
    const at::AutoGradMode on(true);
    run.step();
  });
  EXPECT_THAT(ends, Each(AllOf(HasSubstr("rank 1 has \"layer1.bias with bits "),
                               HasSubstr("where rank 0 has \"layer1.bias with bits "))));
}

TEST(StepAgreement, WhatAllRanksWriteAlikeIsFine) {
  test::run_ranks(3, [](Communicator& world) {
    Training run(world, "sgd-momentum");
    for (int i = 0; i < 4; ++i) {
      run.options().set_lr(0.1 / (i + 1));
      run.step();
      const at::NoGradGuard no_grad;
      run.model.parameter(0).clamp_(-0.2, 0.2);
      if (i == 2 && world.rank() == 1) run.model.parameter(1).zero_();
      if (i == 2) run.optimizer.broadcast_parameters();
      const at::AutoGradMode on(true);
    }
    test::expect_equal_on_all_ranks(world, test::bits(run.model.parameters()));
  });
}

// Rank 0 evaluates a mean of its parameters, say, and then puts its own back.
// docs/acceptance.md, Optimizer: A parameter that one rank writes and takes back is not an error.
TEST(StepAgreement, WhatOneRankWritesAndTakesBackIsFine) {
  test::run_ranks(3, [](Communicator& world) {
    Training run(world, "adamw");
    for (int i = 0; i < 3; ++i) {
      run.step();
      if (world.rank() > 0) continue;
      const at::NoGradGuard no_grad;
      for (at::Tensor& parameter : run.model.parameters()) {
        const at::Tensor own = parameter.clone();
        parameter.zero_();
        parameter.copy_(own);
      }
    }
    test::expect_equal_on_all_ranks(world, test::bits(run.model.parameters()));
  });
}

// Nothing of it is seen by itself, but the parameters differ after the step.
// docs/acceptance.md, Disagreement and misuse: Parameters that drift apart between ranks are named
// in the next window.
TEST(StepAgreement, DriftIsNamedInTheNextWindow) {
  struct Drift {
    const char* name;
    void (*begin)(Training& run);
    void (*end)(Training& run);
  };
  const Drift drifts[] = {
      {"a reduced gradient that one rank scales",
       [](Training& run) { run.model.parameter(5).mutable_grad().data().mul_(0.5); },
       [](Training&) {}},
      {"a rate that differs for one step", [](Training& run) { run.options().set_lr(0.05); },
       [](Training& run) { run.options().set_lr(0.1); }},
      {"a state that one rank loses",
       [](Training& run) { run.optimizer.optimizer().state().clear(); }, [](Training&) {}}};
  for (const Drift& drift : drifts) {
    const auto ends = test::try_ranks(2, [&](Communicator& world) {
      Training run(world, "adamw");
      run.step();
      run.backward();
      run.optimizer.reduce();
      if (world.rank() == 1) drift.begin(run);
      EXPECT_TRUE(run.optimizer.step());
      drift.end(run);
      run.step();
    });
    EXPECT_THAT(ends, Each(AllOf(StartsWith("mismatch: DistributedOptimizer::step: rank 1 has "),
                                 HasSubstr(" with bits "), HasSubstr(kAdvice))))
        << drift.name;
  }
}

// docs/acceptance.md, Disagreement and misuse: Parameters that differ between ranks from the start
// are named.
TEST(StepAgreement, ParametersThatDifferFromTheStartAreNamed) {
  const auto ends = test::try_ranks(2, [](Communicator& world) {
    const Mlp model(static_cast<std::uint64_t>(world.rank()));
    DistributedOptimizer optimizer(world, model.named_parameters(),
                                   test::make_optimizer("sgd", model.parameters(), 0.1));
    optimizer.backward(model.loss(make_rows(4, 1)), 4);
    optimizer.step();
  });
  EXPECT_THAT(ends, Each(HasSubstr("rank 1 has \"layer0.weight with bits ")));
}

// Rank 0 fills its windows, and its totals leave before the program changes the rate. The totals of
// rank 1 leave in step(), after the change.
TEST(StepAgreement, RanksThatFillTheirWindowsUnevenlyAreNotCompared) {
  test::run_ranks(2, [](Communicator& world) {
    Mlp model;
    DistributedOptimizer optimizer(world, model.named_parameters(),
                                   test::make_optimizer("sgd", model.parameters(), 0.1),
                                   {.micro_batches = 2});
    for (int i = 0; i < 3; ++i) {
      for (int part = 0; part < 2 - world.rank(); ++part) {
        optimizer.backward(model.loss(make_rows(4, 1)), 4);
      }
      optimizer.optimizer().param_groups()[0].options().set_lr(0.1 / (i + 2));
      EXPECT_TRUE(optimizer.step());
      test::expect_equal_on_all_ranks(world, test::bits(model.parameters()));
    }
  });
}

TEST(StepAgreement, WhatWasWrittenInAnUnevenWindowIsNamedInTheNextEvenOne) {
  const auto ends = test::try_ranks(2, [](Communicator& world) {
    Mlp model;
    DistributedOptimizer optimizer(world, model.named_parameters(),
                                   test::make_optimizer("sgd", model.parameters(), 0.1),
                                   {.micro_batches = 2});
    for (int i = 0; i < 3; ++i) {
      for (int part = 0; part < (i == 0 && world.rank() == 1 ? 1 : 2); ++part) {
        if (i == 0 && world.rank() == 0) model.parameter(1).detach().zero_();
        optimizer.backward(model.loss(make_rows(4, 1)), 4);
      }
      EXPECT_TRUE(optimizer.step());
      EXPECT_EQ(i, 0);
    }
  });
  EXPECT_THAT(ends, Each(HasSubstr("where rank 0 has \"layer0.bias with bits ")));
}

// The reduced gradient has been used by no step, so a program can recover and go on.
TEST(StepAgreement, StepThatThrowsBecauseOfAnotherRankHasNotStepped) {
  std::string before;
  std::string after;
  const auto ends = test::try_ranks(2, [&](Communicator& world) {
    Mlp model;
    const at::Tensor mean = at::zeros({4});
    DistributedOptimizer optimizer(world, model.named_parameters(),
                                   test::make_optimizer("sgd", model.parameters(), 0.1),
                                   {.buffers = {{"mean", mean}}});
    optimizer.backward(model.loss(make_rows(4, 1)), 4);
    optimizer.reduce();
    if (world.rank() == 1) return;
    before = test::bits(model.parameters());
    try {
      optimizer.step();
    } catch (...) {
      after = test::bits(model.parameters());
      throw;
    }
  });
  EXPECT_THAT(ends[0], HasSubstr("rank 1 for nothing more, having finished"));
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace bp
