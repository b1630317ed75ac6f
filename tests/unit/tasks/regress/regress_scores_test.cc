// Scores of predicted numbers.
#include "trainer/tasks/regress/regress_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/places.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Numbers = std::vector<double>;

// tests/golden/regress/make.py makes the file.
// docs/acceptance.md, Tasks: Scores of numbers are those of scikit-learn and SciPy.
TEST(RegressScores, EqualScikitLearnAndSciPy) {
  std::ifstream golden(kSourceDir + "/tests/golden/regress/golden.jsonl");
  int cases = 0;
  int constant = 0;
  for (std::string line; std::getline(golden, line); ++cases) {
    const auto expected = nlohmann::json::parse(line);
    const RegressScores scores =
        regress_scores(expected["targets"].get<Numbers>(), expected["predictions"].get<Numbers>());
    EXPECT_DOUBLE_EQ(scores.mean_absolute_error, expected["mae"].get<double>()) << cases;
    const double square = expected["mse"].get<double>();
    EXPECT_NEAR(scores.mean_squared_error, square, 1e-15 * square) << cases;
    if (expected["pearson"].is_null()) {
      EXPECT_TRUE(std::isnan(scores.pearson)) << cases;
      EXPECT_TRUE(std::isnan(scores.spearman)) << cases;
      EXPECT_NE(scores.no_correlation, "") << cases;
      ++constant;
    } else {
      EXPECT_NEAR(scores.pearson, expected["pearson"].get<double>(), 1e-15) << cases;
      EXPECT_NEAR(scores.spearman, expected["spearman"].get<double>(), 1e-15) << cases;
      EXPECT_EQ(scores.no_correlation, "") << cases;
    }
  }
  EXPECT_EQ(cases, 120);
  EXPECT_GT(constant, 5);
}

TEST(RegressScores, EqualNumbersShareTheMeanOfTheirRanks) {
  EXPECT_THAT(ranks_of(Numbers{3, 1, 3, 2, 3, 1}), ElementsAre(5, 1.5, 5, 3, 5, 1.5));
  EXPECT_THAT(ranks_of(Numbers{-0.0, 0.0, -1}), ElementsAre(2.5, 2.5, 1));
  EXPECT_THAT(ranks_of(Numbers{}), IsEmpty());
}

TEST(RegressScores, AreTheSameForAnyOrder) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  Numbers targets;
  Numbers predictions;
  for (int i = 0; i < 300; ++i) {
    targets.push_back(normal(random) * 1e5);
    predictions.push_back(targets.back() + normal(random));
  }
  const RegressScores scores = regress_scores(targets, predictions);
  std::ranges::reverse(targets);
  std::ranges::reverse(predictions);
  const RegressScores reversed = regress_scores(targets, predictions);
  EXPECT_EQ(reversed.mean_squared_error, scores.mean_squared_error);
  EXPECT_EQ(reversed.mean_absolute_error, scores.mean_absolute_error);
  EXPECT_EQ(reversed.pearson, scores.pearson);
}

// The deviations are one unit in the last place.
TEST(RegressScores, ALargeMeanHidesNoDeviation) {
  const double next = std::nextafter(1e9, 2e9);
  const RegressScores scores = regress_scores(Numbers{1e9, next, 1e9, next}, Numbers{5, 6, 5, 7});
  EXPECT_NEAR(scores.pearson, 0.75 / std::sqrt(0.25 * 2.75), 1e-15);
}

TEST(RegressScores, ConstantDataHaveNoCorrelation) {
  const auto line = [](const Numbers& targets, const Numbers& predictions) {
    const RegressScores scores = regress_scores(targets, predictions);
    EXPECT_TRUE(std::isnan(scores.pearson));
    EXPECT_TRUE(std::isnan(scores.spearman));
    return regress_line("test", scores);
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(line({1, 2, 3}, {0.1, 0.1, 0.1}),
            "test: mean squared error 4.277, mean absolute error 1.9, no correlation because all "
            "predictions are 0.1, 3 samples");
  EXPECT_EQ(line({2, 2}, {2, 3}),
            "test: mean squared error 0.5, mean absolute error 0.5, no correlation because all "
            "targets are 2, 2 samples");
  EXPECT_EQ(line({2}, {3}),
            "test: mean squared error 1, mean absolute error 1, no correlation because there are "
            "fewer than two samples, 1 samples");
  EXPECT_EQ(line({1, 2}, {infinity, 3}),
            "test: mean squared error inf, mean absolute error inf, no correlation because a "
            "prediction is not finite, 2 samples");
  EXPECT_EQ(line({1, nan}, {1, 3}),
            "test: mean squared error nan, mean absolute error nan, no correlation because a "
            "target is not finite, 2 samples");
  EXPECT_EQ(regress_scores({}, {}).mean_squared_error, 0);
}

TEST(RegressScores, TheLineForTheTerminal) {
  EXPECT_EQ(regress_line("test", regress_scores(Numbers{1, 2, 3, 4}, Numbers{1, 3, 2, 4.5})),
            "test: mean squared error 0.5625, mean absolute error 0.625, Pearson 0.8214, Spearman "
            "0.8000, 4 samples");
}

}  // namespace
}  // namespace bp::trainer
