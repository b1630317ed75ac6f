// step(closure), for optimizers that evaluate the loss themselves.
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/sgd.h>

#include <atomic>
#include <stdexcept>

#include "bp/error.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/support/refusal.h"
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
using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kClosureSteps = 4;
constexpr std::int64_t kClosureRows = 30;

std::unique_ptr<torch::optim::LBFGS> lbfgs(const Mlp& model) {
  return std::make_unique<torch::optim::LBFGS>(
      model.parameters(),
      torch::optim::LBFGSOptions(0.5).max_iter(5).line_search_fn("strong_wolfe"));
}

struct Minimised {
  Mlp model = Mlp();
  int evaluations = 0;
};

Minimised minimise_alone() {
  Minimised result;
  const auto optimizer = lbfgs(result.model);
  const Rows rows = make_rows(kClosureRows, 3);
  for (int step = 0; step < kClosureSteps; ++step) {
    optimizer->step([&] {
      ++result.evaluations;
      optimizer->zero_grad();
      const at::Tensor loss = result.model.loss(rows);
      loss.backward();
      return loss;
    });
  }
  return result;
}

Rows share_of(const Rows& rows, const Communicator& world) {
  return rows.slice(kClosureRows * world.rank() / world.size(),
                    kClosureRows * (world.rank() + 1) / world.size());
}

// docs/acceptance.md, Optimizer: An optimizer that needs a closure, such as L-BFGS, works.
TEST(Closure, LbfgsMinimisesAsOneProcessDoesOnAnyNumberOfRanks) {
  const Minimised alone = minimise_alone();
  EXPECT_GT(alone.evaluations, 2 * kClosureSteps);
  EXPECT_LT(alone.model.loss(make_rows(kClosureRows, 3)).item<double>(),
            0.3 * Mlp().loss(make_rows(kClosureRows, 3)).item<double>());
  for (const int ranks : {1, 2, 4}) {
    test::run_ranks(ranks, [&](Communicator& world) {
      Minimised mine;
      const Rows rows = share_of(make_rows(kClosureRows, 3), world);
      DistributedOptimizer optimizer(world, mine.model.named_parameters(), lbfgs(mine.model));
      double before = 1e9;
      for (int step = 0; step < kClosureSteps; ++step) {
        EXPECT_TRUE(optimizer.step([&] {
          ++mine.evaluations;
          optimizer.zero_grad();
          const at::Tensor loss = mine.model.loss(rows);
          optimizer.backward(loss, rows.weight());
          return loss;
        }));
        EXPECT_EQ(optimizer.window().weight, kClosureRows);
        EXPECT_LT(optimizer.window().loss, before);
        before = optimizer.window().loss;
        test::expect_equal_on_all_ranks(world, bits(mine.model.parameters()));
      }
      EXPECT_EQ(mine.evaluations, alone.evaluations);
      // A line search amplifies the last digits of sums more than a step of Adam does.
      EXPECT_LT(distance(mine.model.parameters(), alone.model.parameters()), 1e-3);
    });
  }
}

// Evaluates the loss `evaluations` times, a number that differs between ranks.
class Capricious : public torch::optim::SGD {
 public:
  Capricious(const std::vector<at::Tensor>& parameters, int evaluations)
      : SGD(parameters, torch::optim::SGDOptions(0.1)), evaluations_(evaluations) {}
  at::Tensor step(LossClosure closure) override {
    at::Tensor loss;
    for (int i = 0; i < evaluations_; ++i) {
      const at::AutoGradMode with_gradients(true);
      loss = closure();
      const at::NoGradGuard none;
      for (auto& parameter : param_groups()[0].params()) {
        parameter.sub_(parameter.grad(), 0.1 * (1 + evaluations_));
      }
    }
    return loss;
  }

 private:
  int evaluations_;
};

TEST(Closure, RankZerosOptimizerDecidesSoRanksCannotDriftApart) {
  test::run_ranks(3, [](Communicator& world) {
    const Mlp model;
    int evaluations = 0;
    DistributedOptimizer optimizer(
        world, model.named_parameters(),
        std::make_unique<Capricious>(model.parameters(), 2 + world.rank()));
    const Rows rows = share_of(make_rows(kClosureRows, 3), world);
    for (int step = 0; step < 2; ++step) {
      optimizer.step([&] {
        ++evaluations;
        // Fillers work as in any window.
        optimizer.backward(model.loss(rows), world.rank() == 1 ? 0 : rows.weight());
      });
      test::expect_equal_on_all_ranks(world, bits(model.parameters()));
    }
    EXPECT_EQ(evaluations, 4);
  });
}

TEST(Closure, StateStaysOnRankZeroUntilItIsBroadcast) {
  test::run_ranks(2, [](Communicator& world) {
    const Mlp model;
    DistributedOptimizer optimizer(world, model.named_parameters(),
                                   test::make_optimizer("adam", model.parameters(), 0.1));
    const Rows rows = share_of(make_rows(kClosureRows, 3), world);
    optimizer.step([&] { optimizer.backward(model.loss(rows), rows.weight()); });
    try {
      optimizer.backward(model.loss(rows), rows.weight());
      ADD_FAILURE() << "backward() began a window for state that only rank 0 has";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(),
                   "DistributedOptimizer: backward() after step(closure), which keeps the wrapped "
                   "optimizer's state on rank 0: call broadcast_parameters() in between");
    }
    optimizer.step([&] { optimizer.backward(model.loss(rows), rows.weight()); });
    optimizer.broadcast_parameters();
  });
  test::run_ranks(2, [](Communicator& world) {
    const Mlp model;
    DistributedOptimizer optimizer(world, model.named_parameters(),
                                   test::make_optimizer("adam", model.parameters(), 0.1));
    const Rows rows = share_of(make_rows(kClosureRows, 3), world);
    optimizer.step([&] { optimizer.backward(model.loss(rows), rows.weight()); });
    optimizer.broadcast_parameters();
    optimizer.backward(model.loss(rows), rows.weight());
    EXPECT_TRUE(optimizer.step());
    test::expect_equal_on_all_ranks(world, bits(model.parameters()));
  });
}

TEST(Closure, ErrorsNameTheMisuse) {
  Communicator world = Communicator::create();
  const Mlp model;
  const Rows rows = make_rows(4, 1);
  const auto text = [&](const DistributedOptimizerOptions& options, const auto& action) {
    DistributedOptimizer optimizer(world, model.named_parameters(), lbfgs(model), options);
    try {
      action(optimizer);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const auto backward = [&](DistributedOptimizer& optimizer) {
    optimizer.backward(model.loss(rows), 4);
  };
  const std::string needs_closure =
      " with LBFGS, which evaluates the loss several times: call step(closure), with a closure "
      "that calls backward(loss, weight)";
  EXPECT_EQ(text({}, [](auto& optimizer) { optimizer.step(); }),
            "DistributedOptimizer: step()" + needs_closure);
  EXPECT_EQ(text({}, backward), "DistributedOptimizer: backward()" + needs_closure);
  EXPECT_EQ(text({}, [](auto& optimizer) { optimizer.step([] {}); }),
            "DistributedOptimizer: step(closure): the closure made no backward(loss, weight) with "
            "a weight on any rank");
  EXPECT_EQ(text({}, [](auto& optimizer) { optimizer.step(std::function<void()>()); }),
            "DistributedOptimizer: step(closure) without one: give it a closure that calls "
            "backward(loss, weight)");
  EXPECT_THAT(text({}, [&](auto& optimizer) { optimizer.step([&] { optimizer.step(); }); }),
              HasSubstr("step() inside the closure of step(closure): leave it out"));
  {
    DistributedOptimizer adam(world, model.named_parameters(),
                              test::make_optimizer("adam", model.parameters(), 0.1),
                              {.micro_batches = 2});
    backward(adam);
    EXPECT_EQ(test::refusal_of([&] { adam.step([&] { backward(adam); }); }),
              "DistributedOptimizer: step(closure) in the middle of a window: call step() first");
  }
  EXPECT_THAT(text({.loss_scaling = {.initial = 4}},
                   [&](auto& optimizer) { optimizer.step([&] { backward(optimizer); }); }),
              HasSubstr("step(closure) cannot skip a window that overflows: leave out"));
}

TEST(Closure, ExceptionOnOneRankEndsTheOthers) {
  const auto texts = test::try_ranks(
      3,
      [](Communicator& world) {
        const Mlp model;
        DistributedOptimizer optimizer(world, model.named_parameters(), lbfgs(model));
        optimizer.step([&] {
          if (world.rank() == 2) {
            throw std::runtime_error("no more rows");
          }
          optimizer.backward(model.loss(make_rows(4, 1)), 4);
        });
      },
      {.communicator = {.timeout = std::chrono::milliseconds(2'000)}});
  EXPECT_THAT(texts[2], HasSubstr("no more rows"));
  EXPECT_NE(texts[0], "");
  EXPECT_NE(texts[1], "");
}

}  // namespace
}  // namespace bp
