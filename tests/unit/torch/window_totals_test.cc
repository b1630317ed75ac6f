// The numbers of a window's ranks survive sums of f32 bit for bit.
#include "comm/torch/window_totals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace bp {
namespace {

using ::testing::ElementsAre;

constexpr double kNumbers[] = {0.1,   -0.0,     16777217, 2e-300,  5e-324,
                               1e308, INFINITY, -1.5e-45, 1.0 / 3, std::nextafter(1.0, 2.0)};

// Returns the sums of all ranks' elements, as an all-reduce of f32 makes them.
std::vector<double> sums_of(const std::vector<std::vector<float>>& of_ranks) {
  std::vector<float> sums = of_ranks[0];
  for (std::size_t r = 1; r < of_ranks.size(); ++r) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += of_ranks[r][i];
  }
  return {sums.begin(), sums.end()};
}

TEST(WindowTotalsTest, EveryRankReadsTheNumbersOfAllBitForBit) {
  constexpr int kRanks = std::size(kNumbers);
  const WindowTotals totals(kRanks, 3);
  std::vector<std::vector<float>> written;
  for (int r = 0; r < kRanks; ++r) {
    written.push_back(totals.written(r,
                                     {.weight = kNumbers[r],
                                      .weighted_loss = -kNumbers[kRanks - 1 - r],
                                      .fingerprint = 0xfedcba9876543210U + static_cast<unsigned>(r),
                                      .stops = r == 2,
                                      .has_late_gradients = r == 2 || r == 4,
                                      .is_from_backward = r == 4 || r == 5,
                                      .split = r == 3 ? 1 << 19 : r},
                                     {false, r > 0, true}));
    EXPECT_EQ(written.back().size(), totals.elements());
  }
  const std::vector<double> sums = sums_of(written);
  const std::vector<RankTotals> read = totals.of_ranks(sums);
  ASSERT_EQ(read.size(), kRanks);
  for (int r = 0; r < kRanks; ++r) {
    const auto same = [](double a, double b) {
      return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
    };
    EXPECT_TRUE(same(read[r].weight, kNumbers[r])) << kNumbers[r];
    EXPECT_TRUE(same(read[r].weighted_loss, -kNumbers[kRanks - 1 - r]));
    EXPECT_EQ(read[r].fingerprint, 0xfedcba9876543210U + static_cast<unsigned>(r));
    EXPECT_EQ(read[r].stops, r == 2);
    EXPECT_EQ(read[r].has_late_gradients, r == 2 || r == 4);
    EXPECT_EQ(read[r].is_from_backward, r == 4 || r == 5);
    EXPECT_EQ(read[r].split, r == 3 ? 1 << 19 : r);
  }
  EXPECT_THAT(totals.lacking_everywhere(sums), ElementsAre(false, false, true));
}

// A rank that has joined adds zeros to all elements.
TEST(WindowTotalsTest, RanksThatHaveJoinedAreLeftOut) {
  const WindowTotals totals(3, 2);
  const std::vector<double> sums = sums_of({totals.written(0, {.weight = 2}, {true, true}),
                                            std::vector<float>(totals.elements()),
                                            totals.written(2, {.weight = 3}, {true, false})});
  const std::vector<RankTotals> read = totals.of_ranks(sums);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[1].weight, 3);
  EXPECT_THAT(totals.lacking_everywhere(sums), ElementsAre(true, false));
}

TEST(WindowTotalsTest, NanIsReadAsNan) {
  const WindowTotals totals(1, 0);
  const RankTotals mine{.weighted_loss = std::numeric_limits<double>::quiet_NaN()};
  EXPECT_TRUE(std::isnan(totals.of_ranks(sums_of({totals.written(0, mine, {})}))[0].weighted_loss));
}

}  // namespace
}  // namespace bp
