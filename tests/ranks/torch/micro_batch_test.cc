// accumulate(): passes for which memory runs out are computed in pieces, and the window is what it
// would have been.
#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/tanh.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bp/torch/distributed_optimizer.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/refusal.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_ranks.h"
#include "window_rank.h"

namespace bp {
namespace {

using test::distance;
using test::FailingAllocator;
using test::make_rows;
using test::Mlp;
using test::Rows;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int kSteps = 3;
constexpr int kMicroBatches = 2;
constexpr std::int64_t kRows = 13;

struct Trained {
  std::vector<double> losses = {};
  std::vector<at::Tensor> parameters = {};
  std::int64_t allocations = 0;  // of rank `at` in passes
  DistributedOptimizer::Passes passes = {};
};

// Trains on `ranks` ranks, with this plan for the passes of the last one.
Trained trained(int ranks,
                const FailingAllocator::Plan& plan,
                const DistributedOptimizerOptions& options = {},
                std::int64_t most = 0) {
  Trained result;
  test::run_ranks(ranks, [&](Communicator& world) {
    DistributedOptimizerOptions own = options;
    own.micro_batches = kMicroBatches;
    WindowRank rank(world, own);
    const bool fails = world.rank() == ranks - 1;
    FailingAllocator::Plan& now = FailingAllocator::plan();
    FailingAllocator::Plan kept = fails ? plan : FailingAllocator::Plan();
    DistributedOptimizer::Passes all;
    std::vector<double> losses;
    for (int step = 0; step < kSteps; ++step) {
      for (int i = 0; i < kMicroBatches; ++i) {
        const Rows rows = make_rows(
            kRows, static_cast<std::uint64_t>((step * ranks + world.rank()) * kMicroBatches + i));
        now = kept;
        const auto passes = rank.optimizer->accumulate(
            kRows,
            [&](RowRange some) { rank.backward(rows.slice(some.first, some.first + some.count)); },
            most);
        kept = std::exchange(now, {});
        all.made += passes.made;
        all.refused += passes.refused;
      }
      rank.optimizer->step();
      losses.push_back(rank.optimizer->window().loss);
    }
    test::expect_equal_on_all_ranks(world, test::bits(rank.model.parameters()));
    if (!fails) return;
    EXPECT_EQ(all.refused, kept.failures);
    result = {losses, {}, kept.allocations, all};
    for (const at::Tensor& one : rank.model.parameters()) {
      result.parameters.push_back(one.detach().clone());
    }
  });
  return result;
}

void expect_same(const Trained& a, const Trained& b) {
  ASSERT_THAT(a.losses, SizeIs(b.losses.size()));
  for (std::size_t i = 0; i < a.losses.size(); ++i) EXPECT_NEAR(a.losses[i], b.losses[i], 1e-6);
  EXPECT_LT(distance(a.parameters, b.parameters), 1e-6);
}

// docs/acceptance.md, Optimizer: A rank whose memory runs out anywhere in a forward or backward
// pass repeats the pass in halves, and all losses and weights are the same.
TEST(MicroBatch, MemoryMayRunOutAtAnyPlace) {
  const FailingAllocator memory;
  for (const int ranks : {1, 2, 3}) {
    const Trained expected = trained(ranks, {});
    ASSERT_GT(expected.allocations, 100);
    EXPECT_EQ(expected.passes.made, kSteps * kMicroBatches);
    for (std::int64_t at = 1; at <= expected.allocations; ++at) {
      SCOPED_TRACE(at);
      const Trained result = trained(ranks, {.fail_at = at});
      EXPECT_EQ(result.passes.refused, 1);
      EXPECT_EQ(result.passes.made, kSteps * kMicroBatches + 1);
      expect_same(result, expected);
    }
  }
}

// A wire that is narrower, a scaled loss and divided gradients have the same window.
TEST(MicroBatch, MemoryMayRunOutWithEachOption) {
  const FailingAllocator memory;
  for (const DistributedOptimizerOptions& options :
       {DistributedOptimizerOptions{.loss_scaling = {.initial = 1024}},
        DistributedOptimizerOptions{.shard = Shard::gradients}}) {
    const Trained expected = trained(2, {}, options);
    for (std::int64_t at = 1; at <= expected.allocations; at += 5) {
      expect_same(trained(2, {.fail_at = at}, options), expected);
    }
  }
}

// What the failed pass has computed is freed at once, wherever it failed.
TEST(MicroBatch, AFailedPassLeavesNoMemoryBehind) {
  const FailingAllocator memory;
  std::int64_t places = 0;
  for (bool fails = true; fails;) {
    test::run_ranks(1, [&](Communicator& world) {
      WindowRank rank(world);
      const Rows rows = make_rows(kRows, 1);
      const Mlp& model = rank.model;
      std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>> made;
      FailingAllocator::plan() = {.fail_at = ++places};
      rank.optimizer->accumulate(kRows, [&](RowRange some) {
        for (const auto& one : made) EXPECT_TRUE(one.expired()) << places;
        at::Tensor states = rows.x.narrow(0, some.first, some.count);
        std::vector<at::Tensor> sides;
        for (int i = 0; i < 3; ++i) {  // branches, so that several nodes are ready at once
          states = at::tanh(
              at::linear(states, at::mm(model.parameters()[0].t(), model.parameters()[0])));
          made.emplace_back(states.getIntrusivePtr());
          sides.push_back(at::sin(states));
        }
        rank.optimizer->backward((sides[0] * sides[1] + sides[2]).mean(), 1);
      });
      fails = std::exchange(FailingAllocator::plan(), {}).failures > 0;
      for (const auto& one : made) EXPECT_TRUE(one.expired()) << places;
    });
  }
  EXPECT_GT(places, 40);
}

// docs/acceptance.md, Optimizer: A call that makes no sense in a pass of accumulate() is refused.
TEST(MicroBatch, MisuseIsNamed) {
  test::run_ranks(1, [](Communicator& world) {
    WindowRank rank(world);
    DistributedOptimizer& optimizer = *rank.optimizer;
    const auto refusal = [&](std::int64_t rows, const DistributedOptimizer::Pass& pass) {
      return test::refusal_of([&] {
        optimizer.accumulate(rows, pass);
        return 0;
      });
    };
    EXPECT_THAT(refusal(0, [](RowRange) {}), HasSubstr("accumulate() of 0 rows"));
    EXPECT_THAT(refusal(2, [](RowRange) {}), HasSubstr("does not call backward()"));
    EXPECT_THAT(refusal(2, [&](RowRange) { optimizer.accumulate(1, [](RowRange) {}); }),
                HasSubstr("accumulate() inside accumulate()"));
    EXPECT_THAT(refusal(2, [&](RowRange) { optimizer.reduce(); }),
                HasSubstr("reduce() inside accumulate()"));
    EXPECT_THAT(refusal(2, [&](RowRange) { optimizer.begin_window(2); }),
                HasSubstr("begin_window in the middle of a window"));
    const Rows rows = make_rows(4, 1);
    EXPECT_THAT(refusal(4,
                        [&](RowRange) {
                          rank.backward(rows);
                          rank.backward(rows);
                        }),
                HasSubstr("backward() twice in a pass of accumulate()"));
  });
}

// An error that is not want of memory ends the optimizer if a part of the rows is in the window.
TEST(MicroBatch, AnotherErrorInTheMiddleEndsTheOptimizer) {
  test::run_ranks(1, [](Communicator& world) {
    WindowRank rank(world);
    const Rows rows = make_rows(4, 1);
    const auto fail_at = [&](std::int64_t row) {
      rank.optimizer->accumulate(
          4,
          [&](RowRange some) {
            if (some.first == row) throw std::runtime_error("no data");
            rank.backward(rows.slice(some.first, some.first + some.count));
          },
          2);
    };
    EXPECT_THROW(fail_at(0), std::runtime_error);
    EXPECT_THROW(fail_at(2), std::runtime_error);
    EXPECT_THAT(test::error_of([&] { return rank.optimizer->step(); }),
                HasSubstr("unusable since an earlier call failed: no data"));
  });
}

// Pieces of pieces fail, down to what fits. A single row that does not fit is the end.
TEST(MicroBatch, PiecesBecomeAsSmallAsTheyMust) {
  const FailingAllocator memory;
  test::run_ranks(1, [](Communicator& world) {
    WindowRank whole(world);
    WindowRank rank(world);
    const Rows rows = make_rows(40, 1);
    whole.backward(rows);
    const auto accumulate = [&](std::size_t most_bytes) {
      FailingAllocator::plan() = {.most = most_bytes};
      const auto passes = rank.optimizer->accumulate(40, [&](RowRange some) {
        rank.backward(rows.slice(some.first, some.first + some.count));
      });
      FailingAllocator::plan() = {};
      return passes;
    };
    EXPECT_THROW(accumulate(16), c10::Error);
    // A layer has 16 outputs for each row, and 16 * 16 weights with their gradients.
    const DistributedOptimizer::Passes passes = accumulate(16 * 16 * sizeof(float));
    EXPECT_EQ(passes.refused, 3);
    EXPECT_EQ(passes.made, 4);
    EXPECT_TRUE(whole.optimizer->step());
    EXPECT_TRUE(rank.optimizer->step());
    EXPECT_EQ(rank.optimizer->window().split, 1);
    EXPECT_LT(distance(whole.model.parameters(), rank.model.parameters()), 1e-6);
  });
  const Trained expected = trained(2, {});
  const Trained by_most = trained(2, {}, {}, 4);
  EXPECT_EQ(by_most.passes.made, kSteps * kMicroBatches * 4);
  expect_same(by_most, expected);
}

}  // namespace
}  // namespace bp
