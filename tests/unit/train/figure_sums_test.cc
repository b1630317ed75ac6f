// What training steps report beside their loss: sums over micro-batches, ranks and steps.
#include "trainer/train/loop/figure_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "bp/error.h"
#include "tests/support/run_ranks.h"

namespace bp::trainer {
namespace {

using ::testing::HasSubstr;

// docs/features.md, Evaluation and reports: Figures that a user's step reports | `losses()` of a
// task; metrics, summary, TensorBoard and the report show them
TEST(FigureSums, AreTheSameForAnyNumberOfRanksAndMicroBatches) {
  constexpr int kSamples = 12;
  for (const int ranks : {1, 2, 3, 4}) {
    bp::test::run_ranks(ranks, [&](Communicator& world) {
      FigureSums sums({"kept", "large"});
      EXPECT_FALSE(sums.pending());
      // Rank r has the samples r, r + ranks, and so on. The first rank reports nothing of "large".
      for (int i = world.rank(); i < kSamples; i += ranks) {
        sums.add({{"kept", i % 5 == 0 ? 1.0 : 0.0, 1}});
        if (i == 7) sums.add({{"large", 0.5, 0.25}});
      }
      sums.end_step(false);
      EXPECT_TRUE(sums.pending());
      const std::vector<Figure> all = sums.exchange(world);
      ASSERT_EQ(all.size(), 2U);
      EXPECT_EQ(all[0].name, "kept");
      EXPECT_EQ(all[0].sum, 3);
      EXPECT_EQ(all[0].weight, kSamples);
      EXPECT_EQ(all[1].sum, 0.5);
      EXPECT_EQ(all[1].weight, 0.25);
      EXPECT_FALSE(sums.pending());
      sums.end_step(false);  // nothing of the first step is left
      EXPECT_EQ(sums.exchange(world)[0].weight, 0);
    });
  }
}

TEST(FigureSums, ASkippedStepLosesOnlyWhatIsNotFinite) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  bp::test::run_ranks(1, [&](Communicator& world) {
    FigureSums sums({"kept", "loss"});
    sums.add({{"kept", 1, 2}, {"loss", kInf, 2}});
    sums.end_step(true);
    sums.add({{"kept", 1, 2}, {"loss", 3, 2}});
    sums.end_step(false);
    std::vector<Figure> all = sums.exchange(world);
    EXPECT_EQ(all[0].weight, 4);
    EXPECT_EQ(all[1].sum, 3);
    EXPECT_EQ(all[1].weight, 2);
    sums.add({{"loss", kInf, 2}});
    sums.end_step(false);
    EXPECT_EQ(sums.exchange(world)[1].sum, kInf);
  });
}

TEST(FigureSums, WithoutNamesThereIsNothingToExchange) {
  FigureSums none({});
  none.end_step(false);
  EXPECT_FALSE(none.pending());
}

std::string refusal(FigureSums& sums, const Figure& figure) {
  try {
    sums.add({figure});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(FigureSums, RefuseUnknownNamesAndNegativeWeights) {
  FigureSums sums({"kept"});
  EXPECT_THAT(refusal(sums, {"kpet", 1, 1}), HasSubstr("'kpet', which is not among the figures"));
  EXPECT_THAT(refusal(sums, {"kept", 1, -1}), HasSubstr("'kept' has the weight -1"));
  EXPECT_EQ(refusal(sums, {"kept", 1, 0}), "");
}

}  // namespace
}  // namespace bp::trainer
