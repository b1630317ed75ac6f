// Where a classifier errs.
#include "trainer/tasks/classify/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "trainer/report/lengths_section.h"
#include "trainer/tasks/classify/probability_scores.h"

namespace bp::trainer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// statsmodels 0.15.0: proportion_confint(right, samples, method="wilson")
TEST(Wilson, IsThatOfStatsmodels) {
  EXPECT_NEAR(wilson_interval(8, 10).low, 0.49016247153664183, 1e-15);
  EXPECT_NEAR(wilson_interval(8, 10).high, 0.9433178485456247, 1e-15);
  EXPECT_NEAR(wilson_interval(0, 5).high, 0.43448246478317487, 1e-15);
  EXPECT_EQ(wilson_interval(0, 5).low, 0);
  EXPECT_NEAR(wilson_interval(5, 5).low, 0.5655175352168252, 1e-15);
  EXPECT_EQ(wilson_interval(5, 5).high, 1);
  EXPECT_EQ(wilson_interval(0, 0).low, 0);
  EXPECT_EQ(wilson_interval(0, 0).high, 1);
}

const std::vector<float> kShares = {0.9F, 0.1F, 0.2F, 0.8F, 0.6F, 0.4F, 0.5F, 0.5F};

AnalysedSplit four_samples() {
  return {"test", {"no", "yes"}, {kShares, 2, {0, 1, 1, -1}}, {3, 8, 9, 40}};
}

TEST(Analysis, HasTheAccuracyByLabelAndLength) {
  const std::string section = sections_html({accuracy_section(four_samples())});
  EXPECT_THAT(section, HasSubstr("all</th><td>66.7 %</td><td>20.8 % to 93.9 %</td><td>3</td>"));
  EXPECT_THAT(section, HasSubstr("yes</th><td>50.0 %</td>"));
  EXPECT_THAT(section, HasSubstr("1 to 8 tokens</th><td>100.0 %</td>"));
  EXPECT_THAT(section, HasSubstr("9 to 16 tokens</th><td>0.0 %</td>"));
  EXPECT_THAT(section, Not(HasSubstr("33 to 64")));  // that sample has no label
  AnalysedSplit unknown = four_samples();
  unknown.lengths.clear();
  EXPECT_THAT(sections_html({accuracy_section(unknown)}), Not(HasSubstr("tokens")));
  unknown.given.labels = {-1, -1, -1, -1};
  EXPECT_THAT(sections_html(analysis_sections(unknown)), Not(HasSubstr("<section")));
}

TEST(Analysis, HasTheCurvesOfTwoLabels) {
  EXPECT_THAT(sections_html(curves_section(four_samples())),
              AllOf(HasSubstr("ROC curve (area 1.0000) of yes, test split"),
                    HasSubstr("Precision by recall of yes")));
  const RankCurves curves = rank_curves({{0.9F, true}, {0.5F, false}, {0.5F, true}, {0.1F, false}});
  EXPECT_THAT(curves.roc,
              ElementsAre(FieldsAre(0, 0), FieldsAre(0, 0.5), FieldsAre(0.5, 1), FieldsAre(1, 1)));
  EXPECT_THAT(curves.precision,
              ElementsAre(FieldsAre(0.5, 1), FieldsAre(1, 2 / 3.0), FieldsAre(1, 0.5)));
  EXPECT_THAT(rank_curves({{0.9F, true}}).roc, IsEmpty());
}

// At each threshold, scikit-learn's precision_recall_curve counts the same.
TEST(Analysis, CountsWhatReachesEachThreshold) {
  const PrCurve curve = pr_curve({kShares, 2, {0, 1, 1, -1}}, 1);
  ASSERT_EQ(curve.true_positives.size(), 201U);
  EXPECT_EQ(curve.true_positives.front(), 2);
  EXPECT_EQ(curve.false_positives.front(), 1);
  EXPECT_EQ(curve.true_positives[100], 1);  // at 0.5
  EXPECT_EQ(curve.false_negatives[100], 1);
  EXPECT_EQ(curve.true_negatives[100], 1);
  EXPECT_EQ(curve.true_positives.back(), 0);
}

std::string lengths_html(const std::vector<SplitLengths>& splits) {
  return sections_html({lengths_section(splits)});
}

// docs/features.md, Splits and batches: The counts of labels in each split | `report.html`,
// `bert_train check`
TEST(Analysis, DescribesTheData) {
  EXPECT_THAT(sections_html({label_counts_section({"a<", "b"}, {{"train", {30, 10}}})}),
              AllOf(HasSubstr("a&lt;</th><td>30 <small class=\"quiet\">75.0 %")));
  const SplitLengths train = lengths_of("train", {5, 1, 4, 2, 3}, 5);
  EXPECT_THAT(lengths_html({train}),
              AllOf(HasSubstr("train</th><td>5</td><td>1</td><td>3</td><td>4</td><td>5</td>"),
                    HasSubstr("with [CLS] and [SEP].</p>")));
  EXPECT_THAT(lengths_html({train, lengths_of("test", {5, 4}, 1)}),
              HasSubstr("[SEP]. In test: 2 samples of 1 texts.</p>"));
  EXPECT_EQ(lengths_html({}), "");
}

}  // namespace
}  // namespace bp::trainer
