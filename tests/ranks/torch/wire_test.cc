// Gradients that travel as halves: which values are rounded and when, what the ranks get, and what
// error feedback returns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "bp/error.h"
#include "comm/reduce/halves.h"
#include "tests/ranks/torch/given_gradients.h"
#include "tests/ranks/torch/layout_training.h"
#include "tests/support/run_ranks.h"

namespace bp {
namespace {

using test::GivenGradients;
using test::run_ranks;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::StartsWith;

float rounded(DataType wire, float value) {
  return wire == DataType::f16 ? to_float(to_float16(value)) : to_float(to_bfloat16(value));
}

// Returns numbers with more digits than a half has, different at each index and on each rank.
std::vector<float> gradient_of(int rank, std::size_t count) {
  std::vector<float> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(1 + static_cast<float>(i * 7 + static_cast<std::size_t>(rank) * 1001) / 4096.F);
  }
  return all;
}

class Wire : public ::testing::TestWithParam<DataType> {};
INSTANTIATE_TEST_SUITE_P(Halves, Wire, ::testing::Values(DataType::f16, DataType::bf16));

// docs/acceptance.md, Optimizer: Gradients may travel in f16 or bf16. Each rank rounds once, and
// the sum is rounded once.
TEST_P(Wire, EachRankRoundsOnceAndTheSumIsRoundedOnce) {
  constexpr std::size_t kCount = 1000;
  const auto body = [&](Communicator& world) {
    GivenGradients rank(world, kCount, {.nominal_weight = 1, .wire = GetParam()});
    rank.backward(gradient_of(world.rank(), kCount));
    rank.optimizer().reduce();
    const auto reduced = rank.gradient();
    for (std::size_t i = 0; i < kCount; ++i) {
      const float a = rounded(GetParam(), gradient_of(0, kCount)[i]);
      const float b = rounded(GetParam(), gradient_of(1, kCount)[i]);
      EXPECT_EQ(reduced[i], rounded(GetParam(), a + b) / 2) << i;  // 2 is the sum of weights
    }
  };
  run_ranks(2, body);
  run_ranks(2, body, {.wire = test::Wire::shm});
}

TEST_P(Wire, TiesRoundToEven) {
  // the distance of halves above 1
  const float step = GetParam() == DataType::f16 ? 0x1p-10F : 0x1p-7F;
  run_ranks(2, [&](Communicator& world) {
    GivenGradients rank(world, 2, {.nominal_weight = 2, .wire = GetParam()});
    rank.backward({2 + step, 2 + 3 * step});
    rank.optimizer().reduce();
    EXPECT_THAT(rank.gradient(), ElementsAre(2 + 0 * step, 2 + 4 * step));
  });
}

// Weights that count tokens would overflow f16 if they were not divided by the nominal weight.
TEST_P(Wire, LargeWeightsStayInRange) {
  run_ranks(3, [&](Communicator& world) {
    GivenGradients rank(world, 3, {.micro_batches = 2, .wire = GetParam()});
    for (int i = 0; i < 2; ++i) {
      rank.backward({6, -12, 0.75}, 1e6);
    }
    rank.optimizer().reduce();
    EXPECT_EQ(rank.optimizer().window().weight, 6e6);
    EXPECT_FALSE(rank.optimizer().window().overflow);
    EXPECT_THAT(rank.gradient(), ElementsAre(6, -12, 0.75));
  });
}

TEST_P(Wire, HalvesTheBytes) {
  run_ranks(2, [&](Communicator& world) {
    GivenGradients rank(world, 1000, {.nominal_weight = 1, .wire = GetParam()});
    const auto before = world.counters();
    rank.backward(gradient_of(0, 1000));
    rank.optimizer().reduce();
    EXPECT_EQ(rank.optimizer().bucket_count(), 2U) << "the totals must travel in f32";
    constexpr std::size_t kTotals = 4 + 2 * 17 * 4;  // f32: of one parameter, and 17 of each rank
    EXPECT_EQ(world.counters().bytes - before.bytes, 2000U + kTotals);
  });
}

TEST_P(Wire, TrainsLikeAFullOneOnUnevenHosts) {
  const test::Outcome alone = test::train_without_bp();
  run_ranks(4,
            [&](Communicator& world) {
              const test::Outcome outcome = test::train_share(world, 1, GetParam());
              EXPECT_NEAR(outcome.losses.back(), alone.losses.back(), 5e-3);
            },
            {.local_sizes = {3, 1}});
}

// What the rounding of one window loses is added to the next. After any number of windows, the
// parameter and the ranks' residuals add up to the exact sum.
// docs/acceptance.md, Optimizer: With error feedback nothing of a gradient is lost by rounding.
TEST_P(Wire, ErrorFeedbackLosesNothing) {
  constexpr int kWindows = 7;
  run_ranks(2, [&](Communicator& world) {
    GivenGradients rank(world, 1,
                        {.nominal_weight = 2, .wire = GetParam(), .error_feedback = true});
    const float gradient = 1 + 0x1p-13F;  // 13 digits after the point, more than either half has
    for (int i = 0; i < kWindows; ++i) {
      rank.backward({gradient});
      rank.optimizer().step();
    }
    const auto state = rank.optimizer().state();
    ASSERT_EQ(state.residuals.size(), 1U);
    EXPECT_EQ(state.residuals[0].first, "p");
    const float residual = state.residuals[0].second.item<float>();  // the same on both ranks
    EXPECT_NE(residual, 0);
    EXPECT_EQ(-rank.parameter()[0] + 2 * residual, kWindows * gradient);
  });
}

TEST_P(Wire, WithoutFeedbackTheRemainderIsLost) {
  run_ranks(2, [&](Communicator& world) {
    GivenGradients rank(world, 1, {.nominal_weight = 2, .wire = GetParam()});
    for (int i = 0; i < 7; ++i) {
      rank.backward({1 + 0x1p-13F});
      rank.optimizer().step();
    }
    EXPECT_TRUE(rank.optimizer().state().residuals.empty());
    EXPECT_EQ(rank.parameter()[0], -7);
  });
}

// Returns the gradients that the optimizer gets in `windows` windows, one after another.
std::vector<float> train(GivenGradients& rank, int me, int windows) {
  std::vector<float> seen;
  for (int i = 0; i < windows; ++i) {
    rank.backward(gradient_of(me, 100));
    rank.optimizer().reduce();
    std::ranges::copy(rank.gradient(), std::back_inserter(seen));
    rank.optimizer().step();
  }
  return seen;
}

// docs/acceptance.md, Optimizer: Residuals of rounding, the loss scale and the order of buckets are
// part of the state.
TEST_P(Wire, SavedResidualsContinueBitForBit) {
  const DistributedOptimizerOptions options = {
      .nominal_weight = 2, .wire = GetParam(), .error_feedback = true};
  run_ranks(2, [&](Communicator& world) {
    DistributedOptimizer::State saved;
    std::vector<float> whole;
    {
      GivenGradients rank(world, 100, options);
      (void)train(rank, world.rank(), 3);
      saved = rank.optimizer().state();
      saved.residuals[0].second = saved.residuals[0].second.clone();
      whole = train(rank, world.rank(), 3);
    }
    GivenGradients fresh(world, 100, options);
    EXPECT_NE(train(fresh, world.rank(), 3), whole)
        << "the residuals must matter, else this test shows nothing";
    fresh.optimizer().load_state(saved);
    EXPECT_EQ(train(fresh, world.rank(), 3), whole);
  });
}

TEST_P(Wire, ResidualsOfAnotherModelAreRefused) {
  run_ranks(2, [&](Communicator& world) {
    GivenGradients rank(world, 100, {.wire = GetParam(), .error_feedback = true});
    DistributedOptimizer::State state;
    state.residuals = {{"q", at::zeros({100})}};
    try {
      rank.optimizer().load_state(state);
      ADD_FAILURE() << "the state was accepted";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(),
                   "DistributedOptimizer: the state has a residual of q of shape [100], which fits "
                   "no parameter here: load it into the same model with the same options");
    }
  });
}

TEST_P(Wire, DisagreementIsAMismatch) {
  const auto ends = test::try_ranks(2, [](Communicator& world) {
    const DataType wire = world.rank() == 0 ? DataType::f32 : GetParam();
    const GivenGradients rank(world, 1, {.wire = wire});
  });
  EXPECT_THAT(ends, Each(StartsWith("mismatch: DistributedOptimizer: rank 1 has \"wire ")));
}

}  // namespace
}  // namespace bp
