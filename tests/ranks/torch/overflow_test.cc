// A gradient that is not finite on one rank skips the step on all ranks and changes the loss scale.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "bp/error.h"
#include "tests/ranks/torch/given_gradients.h"
#include "tests/support/run_ranks.h"

namespace bp {
namespace {

using test::GivenGradients;
using test::run_ranks;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Case {
  std::vector<float> of_rank_1 = {1, 1};
  std::vector<float> of_rank_2 = {1, 1};
};

class Overflow : public ::testing::TestWithParam<DataType> {};
INSTANTIATE_TEST_SUITE_P(Wires,
                         Overflow,
                         ::testing::Values(DataType::f32, DataType::f16, DataType::bf16));

// docs/acceptance.md, Optimizer: An overflow on one rank skips the step on all.
TEST_P(Overflow, OfOneRankSkipsTheStepOnAll) {
  const Case cases[] = {{.of_rank_1 = {kInfinity, 1}},
                        {.of_rank_2 = {1, kNan}},
                        {.of_rank_1 = {kInfinity, 1}, .of_rank_2 = {-kInfinity, 1}}};
  run_ranks(3, [&](Communicator& world) {
    GivenGradients rank(
        world, 2, {.nominal_weight = 4, .wire = GetParam(), .loss_scaling = {.initial = 1024}});
    DistributedOptimizer& optimizer = rank.optimizer();
    double scale = 1024;
    for (const Case& one : cases) {
      const std::vector<float> good = {1, 1};
      rank.backward(world.rank() == 1   ? one.of_rank_1
                    : world.rank() == 2 ? one.of_rank_2
                                        : good,
                    world.rank() == 0 ? 2 : 1);
      EXPECT_FALSE(optimizer.step());
      EXPECT_TRUE(optimizer.window().overflow);
      EXPECT_EQ(optimizer.state().loss_scale, scale /= 2);
      EXPECT_THAT(rank.parameter(), Each(0)) << "the step must be skipped";
    }
    rank.backward({1, 3}, world.rank() == 0 ? 2 : 1);
    EXPECT_TRUE(optimizer.step());
    EXPECT_FALSE(optimizer.window().overflow);
    EXPECT_THAT(rank.parameter(), ElementsAre(-1, -3)) << "the loss scale must cancel out";
  });
}

TEST(OverflowAlone, OfOneRankSkipsItsStep) {
  run_ranks(1, [](Communicator& world) {
    GivenGradients rank(world, 1, {.loss_scaling = {.initial = 8}});
    rank.backward({kNan});
    EXPECT_FALSE(rank.optimizer().step());
    rank.backward({5});
    EXPECT_TRUE(rank.optimizer().step());
    EXPECT_THAT(rank.parameter(), ElementsAre(-5));
  });
}

TEST(OverflowOfTheWire, SkipsTheStepWithoutLossScalingToo) {
  run_ranks(2, [](Communicator& world) {
    GivenGradients rank(world, 1, {.nominal_weight = 1, .wire = DataType::f16});
    rank.backward({world.rank() == 0 ? 40000.F : 30000.F});  // the largest f16 is 65504
    EXPECT_FALSE(rank.optimizer().step());
    EXPECT_TRUE(rank.optimizer().window().overflow);
  });
}

TEST(OverflowWithErrorFeedback, LeavesTheResidualsAsTheyWere) {
  run_ranks(2, [](Communicator& world) {
    GivenGradients rank(world, 2,
                        {.nominal_weight = 2, .wire = DataType::bf16, .error_feedback = true});
    const auto residuals = [&] {
      const auto state = rank.optimizer().state();
      const at::Tensor residual = state.residuals.at(0).second.cpu();
      const float* const data = residual.const_data_ptr<float>();
      return std::vector<float>(data, data + 2);
    };
    rank.backward({1 + 0x1p-13F, 3});
    rank.optimizer().step();
    EXPECT_THAT(residuals(), ElementsAre(0x1p-14F, 0));
    rank.backward({world.rank() == 0 ? kInfinity : 1.F, 1 + 0x1p-13F});
    EXPECT_FALSE(rank.optimizer().step());
    EXPECT_THAT(residuals(), ElementsAre(0x1p-14F, 0));
    rank.optimizer().backward(at::Tensor(), 0);  // a window without any weight changes none either
    EXPECT_FALSE(rank.optimizer().step());
    EXPECT_THAT(residuals(), ElementsAre(0x1p-14F, 0));
  });
}

// docs/acceptance.md, Optimizer: Residuals of rounding, the loss scale and the order of buckets are
// part of the state.
TEST(LossScale, GrowsAfterSomeGoodWindowsAndIsPartOfTheState) {
  run_ranks(2, [](Communicator& world) {
    const DistributedOptimizerOptions options = {.nominal_weight = 2,
                                                 .loss_scaling = {.initial = 4, .interval = 3}};
    DistributedOptimizer::State saved;
    {
      GivenGradients rank(world, 1, options);
      for (const double scale : {4, 4, 8, 8}) {
        rank.backward({1});
        EXPECT_TRUE(rank.optimizer().step());
        EXPECT_EQ(rank.optimizer().state().loss_scale, scale);
      }
      saved = rank.optimizer().state();
      EXPECT_EQ(saved.good_windows, 1);
    }
    GivenGradients rank(world, 1, options);
    rank.optimizer().load_state(saved);
    for (const double scale : {8, 16}) {
      rank.backward({1});
      EXPECT_TRUE(rank.optimizer().step());
      EXPECT_EQ(rank.optimizer().state().loss_scale, scale);
    }
    EXPECT_THAT(rank.parameter(), ElementsAre(-2));
  });
}

TEST(LossScale, RefusesInvalidOptions) {
  run_ranks(1, [](Communicator& world) {
    try {
      const GivenGradients rank(world, 1, {.loss_scaling = {.initial = 4, .backoff = 2}});
      ADD_FAILURE() << "the options were accepted";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(),
                   "DistributedOptimizer: loss_scaling with initial 4, growth 2, backoff 2, "
                   "interval 2000: initial is positive or 0 for none, growth at least 1, backoff "
                   "between 0 and 1, interval positive");
    }
  });
}

}  // namespace
}  // namespace bp
