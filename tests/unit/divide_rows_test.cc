#include "base/divide_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "bp/error.h"

namespace bp {
namespace {

using ::testing::ElementsAre;

std::vector<std::int64_t> divided(std::int64_t rows,
                                  const std::vector<double>& weights,
                                  const std::vector<std::int64_t>& most = {}) {
  return divide_rows(rows, weights, most);
}

TEST(DivideRows, GivesTheLargestRemaindersTheRowsThatAreLeft) {
  EXPECT_THAT(divided(10, {1, 1, 1}), ElementsAre(4, 3, 3));
  EXPECT_THAT(divided(10, {0.5, 0.24, 0.26}), ElementsAre(5, 2, 3));
  EXPECT_THAT(divided(7, {3, 4}), ElementsAre(3, 4));
  EXPECT_THAT(divided(0, {3, 4}), ElementsAre(0, 0));
}

TEST(DivideRows, GivesEachRankWithAWeightARowIfThereAreEnough) {
  EXPECT_THAT(divided(10, {1000, 1, 0}), ElementsAre(9, 1, 0));
  EXPECT_THAT(divided(10, {1000, 1, 1, 1}), ElementsAre(7, 1, 1, 1));
  EXPECT_THAT(divided(1, {1, 1000}), ElementsAre(0, 1));
}

TEST(DivideRows, KeepsBoundsAndRefusesRowsThatNobodyCanTake) {
  EXPECT_THAT(divided(10, {8, 1, 1}, {3, 10, 10}), ElementsAre(3, 4, 3));
  EXPECT_THROW((void)divided(10, {1, 1}, {3, 6}), Error);
  EXPECT_THROW((void)divided(10, {1, 0}, {3, 60}), Error);
}

TEST(DivideRows, UsesEachRowOnceAndIsNearTheShares) {
  std::mt19937_64 random(1);
  for (int turn = 0; turn < 2000; ++turn) {
    const auto rows = static_cast<std::int64_t>(random() % 500);
    std::vector<double> weights(1 + random() % 9);
    for (double& weight : weights) weight = static_cast<double>(1 + random() % 1000);
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    const std::vector<std::int64_t> counts = divided(rows, weights);
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), rows);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const double share = static_cast<double>(rows) * weights[i] / all;
      EXPECT_NEAR(static_cast<double>(counts[i]), share, 1 + static_cast<double>(weights.size()));
    }
  }
}

}  // namespace
}  // namespace bp
