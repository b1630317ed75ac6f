// Which evaluation is better, by any score.
#include "trainer/report/evaluation_summary.h"

#include <gtest/gtest.h>

namespace bp::trainer {
namespace {

TEST(BestResult, HasAHigherAccuracyThenALowerLoss) {
  const EvaluationSummary good{{{"loss", 0.3}, {"accuracy", 0.9}}};
  EXPECT_TRUE(better({{{"loss", 0.9}, {"accuracy", 0.91}}}, good, {"accuracy"}));
  EXPECT_TRUE(better({{{"loss", 0.2}, {"accuracy", 0.9}}}, good, {"accuracy"}));
  EXPECT_FALSE(better(good, good, {"accuracy"}));
  EXPECT_FALSE(better({{{"loss", 0.4}, {"accuracy", 0.9}}}, good, {"accuracy"}));
  EXPECT_FALSE(better({{{"loss", 0.1}, {"accuracy", 0.89}}}, good, {"accuracy"}));
}

TEST(BestResult, MayHaveTheLowestScore) {
  const MainScore log_loss{"log_loss", false};
  EXPECT_TRUE(better({{{"log_loss", 0.4}}}, {{{"log_loss", 0.5}}}, log_loss));
  EXPECT_FALSE(better({{{"log_loss", 0.5}}}, {{{"log_loss", 0.4}}}, log_loss));
}

TEST(BestResult, IsNoneWithoutTheScore) {
  EXPECT_FALSE(better({{{"loss", 0.1}}}, {{{"loss", 0.2}}}, {"accuracy"}));
}

}  // namespace
}  // namespace bp::trainer
