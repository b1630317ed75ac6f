// Scores of probabilities. tests/golden/classify/make.py makes the golden file.
#include "trainer/tasks/classify/probability_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/labelled_rows.h"
#include "tests/support/places.h"
#include "trainer/tasks/classify/scores.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

int most_probable_of(std::span<const float> shares) {
  int best = 0;
  for (int k = 1; k < static_cast<int>(shares.size()); ++k) {
    if (shares[static_cast<std::size_t>(k)] > shares[static_cast<std::size_t>(best)]) best = k;
  }
  return best;
}

// docs/acceptance.md, Tasks: Scores of probabilities are scikit-learn's, and the same for any
// number of ranks.
// docs/features.md, Evaluation and reports: Accuracy, Matthews, kappa, F1, ROC-AUC, top-k and
// calibration | `summary.json`, the report
TEST(ProbabilityScores, EqualScikitLearn) {
  std::ifstream golden(kSourceDir + "/tests/golden/classify/golden.jsonl");
  int cases = 0;
  int without_area = 0;
  for (std::string line; std::getline(golden, line); ++cases) {
    const auto expected = nlohmann::json::parse(line);
    const auto shares = expected["shares"].get<std::vector<float>>();
    const ClassProbabilities given{.shares = shares,
                                   .classes = expected["classes"].get<std::size_t>(),
                                   .labels = expected["labels"].get<std::vector<int>>()};
    const ProbabilityScores scores = probability_scores(given);
    EXPECT_NEAR(scores.brier, expected["brier"].get<double>(), 1e-14) << cases;
    EXPECT_NEAR(scores.ece, expected["ece"].get<double>(), 1e-14) << cases;
    const auto top = expected["top"].get<std::vector<double>>();
    ASSERT_EQ(scores.top.size(), top.size()) << cases;
    for (std::size_t i = 0; i < top.size(); ++i) {
      EXPECT_DOUBLE_EQ(scores.top[i].second, top[i]) << cases << ", top " << scores.top[i].first;
    }
    if (expected["roc_auc"].is_null()) {
      EXPECT_TRUE(std::isnan(scores.roc_auc)) << cases;
      ++without_area;
    } else {
      EXPECT_NEAR(scores.roc_auc, expected["roc_auc"].get<double>(), 1e-14) << cases;
    }
    Counts counts(given.classes, std::vector<int>(given.classes));
    for (std::size_t i = 0; i < given.labels.size(); ++i) {
      const auto prediction = static_cast<std::size_t>(most_probable_of(given.of(i)));
      ++counts[static_cast<std::size_t>(given.labels[i])][prediction];
    }
    const Scores classes = scores_of(counts);
    EXPECT_NEAR(classes.kappa, expected["kappa"].get<double>(), 1e-14) << cases;
    for (const auto& [macro, own] :
         {std::pair{"macro", classes.macro}, {"macro_of_all", classes.macro_of_all}}) {
      EXPECT_NEAR(own.precision, expected[macro][0].get<double>(), 1e-14) << cases << macro;
      EXPECT_NEAR(own.recall, expected[macro][1].get<double>(), 1e-14) << cases << macro;
      EXPECT_NEAR(own.f1, expected[macro][2].get<double>(), 1e-14) << cases << macro;
    }
    EXPECT_NEAR(classes.weighted.f1, expected["f1_weighted"].get<double>(), 1e-14) << cases;
  }
  EXPECT_EQ(cases, 60);
  EXPECT_GT(without_area, 3);
}

TEST(ProbabilityScores, LeaveOutSamplesWithoutALabel) {
  const std::vector<float> shares = {0.9F, 0.1F, 0.2F, 0.8F, 0.6F, 0.4F};
  const ClassProbabilities some{.shares = shares, .classes = 2, .labels = {0, -1, 1}};
  const std::vector<float> labelled = {0.9F, 0.1F, 0.6F, 0.4F};
  const ClassProbabilities all{.shares = labelled, .classes = 2, .labels = {0, 1}};
  EXPECT_EQ(probability_scores(some).roc_auc, 1);
  EXPECT_EQ(probability_scores(some).brier, probability_scores(all).brier);
  EXPECT_EQ(probability_scores(some).ece, probability_scores(all).ece);
  EXPECT_GT(probability_scores(all).ece, 0.1);

  const ProbabilityScores none =
      probability_scores({.shares = shares, .classes = 2, .labels = {-1, -1, -1}});
  EXPECT_TRUE(std::isnan(none.roc_auc));
  EXPECT_EQ(none.brier, 0);
  EXPECT_EQ(none.ece, 0);
}

// As a prediction does, which is the first of the most probable classes.
TEST(ProbabilityScores, OfEqualProbabilitiesTheFirstClassCountsAsMoreProbable) {
  const std::vector<float> shares = {0.25F, 0.25F, 0.25F, 0.25F, 0.25F, 0.25F, 0.25F, 0.25F};
  const ProbabilityScores scores =
      probability_scores({.shares = shares, .classes = 4, .labels = {1, 2}});
  EXPECT_THAT(scores.top, ElementsAre(Pair(2, 0.5), Pair(3, 1.0)));
}

TEST(ProbabilityScores, ABinHoldsItsUpperEnd) {
  const std::vector<float> shares = {1, 0, 0.5F, 0.5F};
  const Calibration bins = calibration_of({.shares = shares, .classes = 2, .labels = {0, 1}});
  EXPECT_EQ(bins[14].samples, 1);
  EXPECT_EQ(bins[14].right, 1);
  EXPECT_EQ(bins[7].samples, 1);  // 7/15 to 8/15
  EXPECT_EQ(bins[7].right, 0);
  EXPECT_DOUBLE_EQ(expected_calibration_error(bins), 0.25);
}

TEST(RocAuc, CountsPairsWhateverTheirOrder) {
  EXPECT_EQ(roc_auc({{0.1F, false}, {0.4F, false}, {0.35F, true}, {0.8F, true}}), 0.75);
  EXPECT_EQ(roc_auc({{0.8F, true}, {0.35F, true}, {0.4F, false}, {0.1F, false}}), 0.75);
  EXPECT_EQ(roc_auc({{0.5F, false}, {0.5F, true}, {0.5F, true}}), 0.5);
  EXPECT_TRUE(std::isnan(roc_auc({{0.5F, true}, {0.2F, true}})));
  EXPECT_TRUE(std::isnan(roc_auc({})));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(roc_auc({{nan, true}, {0.2F, false}, {nan, false}})));
}

TEST(Scores, AreListedInTheOrderOfTheDocumentation) {
  const std::vector<float> shares = {0.5F, 0.2F, 0.3F, 0.1F, 0.8F, 0.1F};
  const EvaluationSummary summary =
      summary_of(scores_of(Counts{{1, 0, 0}, {0, 0, 0}, {0, 1, 0}}),
                 probability_scores({.shares = shares, .classes = 3, .labels = {0, 2}}));
  std::vector<std::string> keys;
  for (const auto& [key, value] : summary.scores) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("loss", "accuracy", "mcc", "kappa", "f1_macro", "f1_weighted",
                                "precision_macro", "recall_macro", "top2_accuracy", "roc_auc",
                                "brier", "ece", "log_loss"));
  EXPECT_EQ(summary.at("top2_accuracy"), 0.5);
}

}  // namespace
}  // namespace bp::trainer
