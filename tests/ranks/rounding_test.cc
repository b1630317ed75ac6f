// How sums of halves round. The tests check what include/bp/collective.h promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <mutex>
#include <random>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include "base/text.h"
#include "bp/collective.h"
#include "tests/ranks/exact.h"
#include "tests/support/run_ranks.h"

namespace bp::test {
namespace {

constexpr int kMantissaBits = 8;  // of bf16, with the implicit one

double value_of(BFloat16 half) { return static_cast<double>(to_float(half)); }

double ulp_of(double magnitude) {
  return std::ldexp(1.0, std::ilogb(magnitude) + 1 - kMantissaBits);
}

RanksOptions over(Wire wire, const std::string& algorithm) {
  RanksOptions options{.wire = wire};
  options.communicator.algorithm = algorithm;
  return options;
}

// Element j is 256 on rank j mod P and 1 on the others. A 1 that is added to 256 by itself is lost,
// because 257 lies halfway between 256 and 258, and the tie rounds to the even mantissa, that of
// 256.
std::vector<double> sums_of_ones_and_a_large(int ranks, const RanksOptions& options) {
  std::vector<double> sums;
  run_ranks(
      ranks,
      [&](Communicator& comm) {
        const auto size = static_cast<std::size_t>(comm.size());
        std::vector<BFloat16> data(size * size);
        for (std::size_t j = 0; j < data.size(); ++j) {
          data[j] = to_bfloat16(static_cast<int>(j % size) == comm.rank() ? 256.0F : 1.0F);
        }
        all_reduce(comm, view(data));
        if (comm.rank() != 0) return;
        for (const BFloat16 sum : data) sums.push_back(value_of(sum));
      },
      options);
  return sums;
}

TEST(RoundingOfHalves, RingRoundsOncePerMessage) {
  for (const int ranks : {3, 5, 8}) {
    const auto sums = sums_of_ones_and_a_large(ranks, over(Wire::inproc, "ring"));
    // If the 256 comes first, the result is (P - 1) / 2 ulp below 256 + (P - 1). An ulp is 2 here.
    EXPECT_EQ(std::ranges::min(sums), 256) << ranks;
    for (const double sum : sums) EXPECT_LE(std::abs(sum - 255 - ranks), ranks - 1) << ranks;
  }
}

TEST(RoundingOfHalves, SharedMemoryRoundsOnce) {
  for (const int ranks : {3, 5, 8}) {
    const double nearest = value_of(to_bfloat16(static_cast<float>(255 + ranks)));
    EXPECT_THAT(sums_of_ones_and_a_large(ranks, over(Wire::shm, "auto")), testing::Each(nearest));
  }
}

// Random numbers of both signs and many magnitudes, with every algorithm.
// docs/acceptance.md, Values: Sums of halves that go over messages are as exact as collective.h
// says, by every algorithm.
// docs/features.md, Gradients: Ring, tree and other algorithms over Gloo | `BP_ALGORITHM`,
// `comm_bench --algorithm`
TEST(RoundingOfHalves, IsWithinTheBoundByEveryAlgorithm) {
  constexpr int kWorld = 5;
  constexpr std::size_t kCount = 300;
  std::vector<std::vector<BFloat16>> inputs(kWorld, std::vector<BFloat16>(kCount));
  std::mt19937 random(13);
  for (auto& input : inputs) {
    for (BFloat16& x : input) {
      const auto mantissa = static_cast<float>(static_cast<int>(random() % 512) - 256);
      x = to_bfloat16(std::ldexp(mantissa, static_cast<int>(random() % 12)));
    }
  }
  for (const char* const algorithm :
       {"ring", "recursive_doubling", "halving_doubling", "tree", "double_tree", "hierarchical"}) {
    RanksOptions options = over(Wire::inproc, algorithm);
    options.local_sizes = {3, 2};
    run_ranks(
        kWorld,
        [&](Communicator& comm) {
          auto data = inputs[static_cast<std::size_t>(comm.rank())];
          all_reduce(comm, view(data));
          for (std::size_t j = 0; j < kCount; ++j) {
            double sum = 0;
            double magnitudes = 0;
            for (const auto& input : inputs) {
              sum += value_of(input[j]);
              magnitudes += std::abs(value_of(input[j]));
            }
            EXPECT_LE(std::abs(value_of(data[j]) - sum), (kWorld - 1) / 2.0 * ulp_of(magnitudes))
                << algorithm << " at " << j;
          }
        },
        options);
  }
}

#ifdef __SSE__
// A thread may change its mode after create(), and another one may compute the operation.
// docs/acceptance.md, Disagreement and misuse: Modes of rounding that threads set later change no
// sum.
TEST(Rounding, ModesThatThreadsSetLaterChangeNoSum) {
  for (const Wire wire : {Wire::inproc, Wire::shm}) {
    run_ranks(2,
              [](Communicator& world) {
                std::vector<float> warm_up(10);
                all_reduce_async(world, view(warm_up)).wait();
                const unsigned before = _mm_getcsr();
                if (world.rank() == 1) _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
                if (world.rank() == 1) _MM_SET_ROUNDING_MODE(_MM_ROUND_UP);
                Communicator group = world.split(0);
                for (const std::size_t count : {1, 1000, 100'000}) {
                  for (Communicator* comm : {&world, &group}) {
                    std::vector<float> denormal(count, 1e-40F);
                    all_reduce(*comm, view(denormal));
                    std::vector<float> rounded(count, world.rank() == 0 ? 1.0F : 1e-9F);
                    all_reduce_async(*comm, view(rounded)).wait();
                    EXPECT_EQ(std::ranges::count(denormal, 1e-40F + 1e-40F), std::ssize(denormal));
                    EXPECT_EQ(std::ranges::count(rounded, 1.0F), std::ssize(rounded));
                  }
                }
                _mm_setcsr(before);
              },
              {.wire = wire});
  }
}
#endif

}  // namespace
}  // namespace bp::test
