// scikit-learn 1.9.1 computed the golden values by these calls, where t and p are the matrices:
//   f1_score(t, p, average=A, zero_division=0) for "micro", "macro", "weighted" and "samples",
//   accuracy_score(t, p), hamming_loss(t, p),
//   classification_report(t, p, target_names=names, digits=3, zero_division=0)
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/support/labelled_rows.h"
#include "trainer/tasks/classify/confusions.h"
#include "trainer/tasks/classify/sections.h"
#include "trainer/tasks/classify/tables.h"

namespace bp::trainer {
namespace {

const Sets kAnswers = {{1, 0, 0}, {1, 1, 0}, {0, 0, 0}, {0, 1, 1},
                       {1, 1, 1}, {0, 0, 0}, {0, 1, 0}, {1, 0, 0}};
const Sets kPredictions = {{1, 0, 0}, {1, 0, 0}, {0, 0, 0}, {0, 1, 0},
                           {1, 1, 0}, {0, 1, 0}, {1, 1, 0}, {0, 0, 0}};
const std::vector<std::string> kNames = {"joy", "fear", "no food at all"};

Scores scores() {
  LossSum losses(true);
  for (std::size_t row = 0; row < kAnswers.size(); ++row)
    losses.add(0.1 * static_cast<double>(row));
  return scores_of(rows_of(kNames, kAnswers, kPredictions), losses);
}

// docs/acceptance.md, Tasks: Scores of several labels are scikit-learn's.
TEST(LabelScores, EqualScikitLearn) {
  const Scores own = scores();
  EXPECT_DOUBLE_EQ(own.micro.f1, 0.6666666666666666);
  EXPECT_DOUBLE_EQ(own.macro.f1, 0.5);
  EXPECT_DOUBLE_EQ(own.weighted.f1, 0.6);
  EXPECT_DOUBLE_EQ(own.of_samples.f1, 0.475);
  EXPECT_DOUBLE_EQ(own.subset_accuracy, 0.25);
  EXPECT_DOUBLE_EQ(own.hamming_loss, 0.25);
  EXPECT_DOUBLE_EQ(own.loss, 0.35);
  EXPECT_EQ(own.samples, 8);
  EXPECT_EQ(own.labelled, 6);
}

// docs/acceptance.md, Tasks: The table of scores by label is scikit-learn's byte for byte.
TEST(LabelScores, TheTableEqualsScikitLearnsByteForByte) {
  EXPECT_EQ(classification_table(scores(), kNames),
            "                precision    recall  f1-score   support\n"
            "\n"
            "           joy      0.750     0.750     0.750         4\n"
            "          fear      0.750     0.750     0.750         4\n"
            "no food at all      0.000     0.000     0.000         2\n"
            "\n"
            "     micro avg      0.750     0.600     0.667        10\n"
            "     macro avg      0.500     0.500     0.500        10\n"
            "  weighted avg      0.600     0.600     0.600        10\n"
            "   samples avg      0.562     0.458     0.475        10\n");
}

// Rows without any label cannot be told from rows whose labels are unknown, unless some have one.
TEST(LabelScores, AreUnknownIfNoRowHasALabel) {
  const LabelledRows rows = rows_of(kNames, {{false, false, false}}, {{true, false, false}});
  const EvaluationSummary summary = summary_of(scores_of(rows, LossSum(true)));
  for (const char* key : {"loss", "f1_micro", "f1_macro", "subset_accuracy", "hamming_loss"}) {
    EXPECT_TRUE(std::isnan(summary.at(key))) << key;
  }
  EXPECT_EQ(summary_of(scores()).at("f1_macro"), 0.5);
}

TEST(LabelScores, TheReportEscapesNamesAndTexts) {
  ErrorRows errors;
  errors.rows.push_back({.text = "a <script> text", .answer = "<b>|fear", .facts = "loss 1.50"});
  const std::string page =
      sections_html(class_sections({"test", {"<b>", "fear", "food"}, scores(), errors}, nullptr));
  EXPECT_EQ(page.find("<script>"), std::string::npos);
  EXPECT_NE(page.find("is <b>&lt;b&gt;|fear</b>, predicted <b>none</b>; loss 1.50"),
            std::string::npos);
  EXPECT_NE(page.find("<th scope=\"row\">mean of samples</th><td>0.562</td>"), std::string::npos);
}

TEST(LabelScores, TheFileHasEachLabel) {
  EXPECT_EQ(classes_csv(scores().classes, kNames),
            "label,precision,recall,f1,samples,predictions\n"
            "joy,0.750000,0.750000,0.750000,4,4\n"
            "fear,0.750000,0.750000,0.750000,4,4\n"
            "no food at all,0.000000,0.000000,0.000000,2,0\n");
}

}  // namespace
}  // namespace bp::trainer
