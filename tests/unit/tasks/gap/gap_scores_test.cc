// Scores of GAP, and the file for Kaggle.
#include "trainer/tasks/gap/gap_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/places.h"
#include "tests/support/refusal.h"

namespace bp::trainer {
namespace {

// tests/golden/gap/make.py makes the file.
// docs/acceptance.md, Tasks: Scores of GAP are those of its own scorer.
// docs/features.md, Evaluation and reports: GAP's scores, by gender | `--task gap`
TEST(GapScores, EqualTheScorerOfGap) {
  std::ifstream golden(kSourceDir + "/tests/golden/gap/golden.jsonl");
  int cases = 0;
  int without_bias = 0;
  for (std::string line; std::getline(golden, line); ++cases) {
    const auto expected = nlohmann::json::parse(line);
    const auto labels = expected["labels"].get<std::string>();
    const auto genders = expected["genders"].get<std::string>();
    GapTally tally;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      GapTally::Result row{labels[i] - '0',
                           genders[i] == 'm' ? Gender::masculine : Gender::feminine};
      for (std::size_t k = 0; k < 3; ++k) {
        row.probabilities.at(k) = expected["probabilities"][i][k].get<double>() / 1000;
      }
      tally.add(row);
    }
    EXPECT_EQ(gap_scorecard(tally), expected["scorecard"].get<std::string>()) << "case " << cases;
    const double loss = expected["log_loss"].get<double>();
    EXPECT_NEAR(tally.log_loss(), loss, 1e-14 * (1 + loss)) << "case " << cases;
    EXPECT_EQ(tally.rows(), static_cast<std::int64_t>(labels.size()));
    without_bias += std::isnan(tally.bias()) ? 1 : 0;
  }
  EXPECT_EQ(cases, 80);
  EXPECT_GT(without_bias, 5);
  EXPECT_LT(without_bias, 75);
}

GapTally::Result scored(int label, Gender gender, GapProbabilities probabilities) {
  return {label, gender, probabilities};
}

// Pronouns of an unknown gender count overall only.
TEST(GapScores, CountsAndRatios) {
  GapTally tally;
  tally.add(scored(1, Gender::masculine, {0.1, 0.8, 0.1}));
  tally.add(scored(2, Gender::feminine, {0.1, 0.8, 0.1}));
  tally.add(scored(2, Gender::feminine, {0, 0, 1}));
  tally.add(scored(0, Gender::unknown, {0.1, 0.1, 0.8}));
  EXPECT_EQ(tally.accuracy(), 0.5);
  EXPECT_EQ(tally.of(Gender::masculine).f1(), 100);
  EXPECT_EQ(tally.of(Gender::feminine).f1(), 50);
  EXPECT_EQ(tally.bias(), 0.5);
  const GapDecisions all = tally.overall();
  EXPECT_EQ(all.true_positives, 2);
  EXPECT_EQ(all.false_positives, 2);
  EXPECT_EQ(all.false_negatives, 1);
  EXPECT_EQ(all.true_negatives, 3);
}

TEST(GapScores, WithoutRows) {
  const GapTally tally;
  EXPECT_EQ(tally.accuracy(), 0);
  EXPECT_EQ(tally.log_loss(), 0);
  EXPECT_TRUE(std::isnan(tally.bias()));
}

TEST(GapScores, CountsOfRanksAddUp) {
  GapTally whole;
  GapTally first;
  GapTally second;
  for (int i = 0; i < 30; ++i) {
    const double share = i / 30.0;
    const auto own = scored(i % 3, i % 2 == 0 ? Gender::masculine : Gender::feminine,
                            {share, (1 - share) / 3, (1 - share) * 2 / 3});
    whole.add(own);
    (i % 4 == 0 ? first : second).add(own);
  }
  std::ranges::transform(first.values(), second.values(), first.values().begin(), std::plus());
  EXPECT_EQ(gap_scorecard(first), gap_scorecard(whole));
  EXPECT_EQ(first.log_loss(), whole.log_loss());
  EXPECT_EQ(first.accuracy(), whole.accuracy());
}

TEST(GapScores, ImpossibleLossesAndLabels) {
  GapTally tally;
  tally.add(scored(0, Gender::masculine, {0, 0.5, 0.5}));
  EXPECT_NEAR(tally.log_loss(), -std::log(1e-15), 1e-12);
  tally.add(scored(0, Gender::masculine, {std::numeric_limits<double>::quiet_NaN(), 0, 0}));
  EXPECT_TRUE(std::isnan(tally.log_loss()));
  for (const int label : {-1, 3, 4}) {
    EXPECT_EQ(bp::test::refusal_of([&] {
                tally.add(scored(label, Gender::masculine, {}));
                return 0;
              }),
              "label " + std::to_string(label) +
                  " of a row of GAP: labels are 0 (neither), 1 (A), 2 (B)");
  }
}

TEST(GapScores, LinesForKaggle) {
  EXPECT_EQ(kaggle_header(), "ID,A,B,NEITHER\n");
  EXPECT_EQ(kaggle_line("development-1", {0.25, 0.5, 1e-12}), "development-1,0.5,1e-12,0.25\n");
  EXPECT_EQ(kaggle_line("a,b", {1, 0, 1.0 / 3}), "\"a,b\",0,0.333333333,1\n");
}

}  // namespace
}  // namespace bp::trainer
