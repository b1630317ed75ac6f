// Gradients that travel as int8 between hosts: what the ranks get, and what becomes of what
// rounding takes.
#include <ATen/core/Tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "bp/collective.h"
#include "tests/ranks/torch/given_gradients.h"
#include "tests/ranks/torch/layout_training.h"
#include "tests/support/counted_ranks.h"
#include "tests/support/run_ranks.h"

namespace bp {
namespace {

using test::GivenGradients;
using test::run_ranks;
using ::testing::HasSubstr;

constexpr std::size_t kElements = 1000;

std::vector<float> wide_gradient(int rank, int window) {
  std::vector<float> all;
  for (std::size_t i = 0; i < kElements; ++i) {
    all.push_back(
        std::sin(static_cast<float>(i * 13 + static_cast<std::size_t>(rank * 7 + window))) *
        static_cast<float>(1 + i / 64));
  }
  return all;
}

// docs/acceptance.md, Optimizer: With the wire int8 ranks stay equal and train like with f32, on
// even and on uneven hosts.
TEST(Int8Wire, TrainsLikeAFullOne) {
  const test::Outcome alone = test::train_without_bp();
  for (const std::vector<int>& hosts :
       std::vector<std::vector<int>>{{1, 1}, {3, 1}, {2, 1, 1}, {1, 1, 1, 1}}) {
    run_ranks(hosts == std::vector{1, 1} ? 2 : 4,
              [&](Communicator& world) {
                const test::Outcome outcome = test::train_share(world, 1, DataType::i8);
                EXPECT_NEAR(outcome.losses.back(), alone.losses.back(), 5e-3);
              },
              {.local_sizes = hosts});
  }
}

// docs/acceptance.md, Optimizer: What int8 takes from a gradient is added to later ones. After any
// number of windows the residuals and the sums that the ranks have got add up to all gradients.
TEST(Int8Wire, LosesNothing) {
  constexpr int kWindows = 7;
  for (const std::vector<int>& hosts :
       std::vector<std::vector<int>>{{1, 1}, {3, 1}, {2, 1, 1}, {1, 1, 1, 1}}) {
    const int ranks = hosts == std::vector{1, 1} ? 2 : 4;
    run_ranks(ranks,
              [&](Communicator& world) {
                GivenGradients rank(
                    world, kElements,
                    {.nominal_weight = static_cast<double>(world.size()), .wire = DataType::i8});
                std::vector<double> exact(kElements);
                for (int window = 0; window < kWindows; ++window) {
                  rank.backward(wide_gradient(world.rank(), window));
                  EXPECT_TRUE(rank.optimizer().step());
                  for (int r = 0; r < world.size(); ++r) {
                    const std::vector<float> one = wide_gradient(r, window);
                    for (std::size_t i = 0; i < kElements; ++i)
                      exact[i] += double{one[i]} / world.size();
                  }
                }
                const auto state = rank.optimizer().state();
                ASSERT_EQ(state.residuals.size(), 1U);
                const float* const own = state.residuals[0].second.const_data_ptr<float>();
                std::vector<float> left(own, own + kElements);
                all_reduce(world, view(left));
                const std::vector<float> parameter = rank.parameter();
                double most = 0;
                for (std::size_t i = 0; i < kElements; ++i) {
                  ASSERT_NEAR(left[i] - parameter[i], exact[i], 2e-4) << i;
                  // One quantum of the last window: of each host, and of the sum.
                  ASSERT_NEAR(-parameter[i], exact[i], (1.0 + static_cast<double>(i) / 64) * 2 / 64)
                      << i;
                  most = std::max<double>(most, std::abs(left[i]));
                }
                EXPECT_GT(most, 1e-3) << "nothing was rounded";
              },
              {.local_sizes = hosts});
  }
}

// The sums of f32 are in the same order in both cases.
TEST(Int8Wire, RoundsNothingOnOneHost) {
  run_ranks(3, [](Communicator& world) {
    GivenGradients rounded(world, kElements, {.nominal_weight = 3, .wire = DataType::i8});
    GivenGradients whole(world, kElements, {.nominal_weight = 3});
    for (GivenGradients* const one : {&rounded, &whole}) {
      one->backward(wide_gradient(world.rank(), 0));
      one->optimizer().reduce();
    }
    EXPECT_EQ(rounded.gradient(), whole.gradient());
    EXPECT_TRUE(rounded.optimizer().step());
    EXPECT_TRUE(rounded.optimizer().state().residuals.empty());
  });
}

// docs/acceptance.md, Optimizer: A window with a gradient that is not finite is skipped with int8
// by all ranks, and leaves the residuals as they were.
TEST(Int8Wire, SkipsAWindowThatIsNotFinite) {
  run_ranks(3,
            [](Communicator& world) {
              GivenGradients rank(world, kElements, {.nominal_weight = 3, .wire = DataType::i8});
              rank.backward(wide_gradient(world.rank(), 0));
              EXPECT_TRUE(rank.optimizer().step());
              const std::vector<float> parameter = rank.parameter();
              const at::Tensor residual = rank.optimizer().state().residuals[0].second.clone();
              for (const float odd : {std::numeric_limits<float>::infinity(),
                                      std::numeric_limits<float>::quiet_NaN()}) {
                std::vector<float> gradient = wide_gradient(world.rank(), 1);
                if (world.rank() == 1) gradient[77] = odd;
                rank.backward(gradient);
                EXPECT_FALSE(rank.optimizer().step());
                EXPECT_TRUE(rank.optimizer().window().overflow);
              }
              EXPECT_EQ(rank.parameter(), parameter);
              EXPECT_TRUE(residual.equal(rank.optimizer().state().residuals[0].second));
            },
            {.local_sizes = {2, 1}});
}

// docs/acceptance.md, Optimizer: Between hosts int8 takes 33 bytes where f32 takes 128, with a
// sharded optimizer too.
TEST(Int8Wire, TakesAQuarterOfTheBytesBetweenHosts) {
  for (const Shard shard : {Shard::none, Shard::host, Shard::optimizer}) {
    std::array<std::atomic<std::size_t>, 2> sent = {};  // by each host
    std::atomic<bool> is_counting = false;
    const auto host_of = [](int rank) { return rank == 3 ? 1U : 0U; };
    test::RanksOptions options{.wire = test::Wire::shm, .local_sizes = {3, 1}};
    options.segments = {};
    test::run_counted_ranks(
        4,
        [&](Communicator& world) {
          GivenGradients rank(world, 64'000,
                              {.nominal_weight = 1, .wire = DataType::i8, .shard = shard});
          EXPECT_EQ(rank.optimizer().bucket_count(), 2U) << "the totals must travel in f32";
          barrier(world);
          is_counting = true;
          rank.backward(std::vector<float>(64'000, 1));
          rank.optimizer().reduce();
          barrier(world);
          is_counting = false;
        },
        options,
        [&](int from, int to, std::size_t bytes) {
          if (is_counting && host_of(from) != host_of(to)) sent[host_of(from)] += bytes;
        });
    for (const auto& bytes : sent) {
      EXPECT_GE(bytes, 66'000U) << name_of(shard);
      EXPECT_LT(bytes, 67'000U) << name_of(shard) << ": with the totals";
    }
  }
}

TEST(Int8Wire, WithDividedGradientsIsRefused) {
  const auto ends = test::try_ranks(
      2,
      [](Communicator& world) {
        const GivenGradients rank(world, 10, {.wire = DataType::i8, .shard = Shard::gradients});
      },
      {.wire = test::Wire::shm, .local_sizes = {1, 1}});
  EXPECT_THAT(ends, ::testing::Each(HasSubstr("shard = gradients with wire = i8, for which each "
                                              "rank keeps its whole gradient")));
}

}  // namespace
}  // namespace bp
