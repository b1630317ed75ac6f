// scikit-learn 1.9.1 computed the golden values by these calls, where t and p are the matrices:
//   f1_score(t, p, average=A, zero_division=0) for "micro", "macro", "weighted" and "samples",
//   accuracy_score(t, p), hamming_loss(t, p),
//   classification_report(t, p, target_names=names, digits=3, zero_division=0)
#include "trainer/tasks/classify/label_scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "trainer/tasks/classify/confusions.h"
#include "trainer/tasks/classify/label_sections.h"
#include "trainer/tasks/classify/tables.h"

namespace bp::trainer {
namespace {

using Rows = std::vector<std::vector<bool>>;

const Rows kAnswers = {{1, 0, 0}, {1, 1, 0}, {0, 0, 0}, {0, 1, 1},
                       {1, 1, 1}, {0, 0, 0}, {0, 1, 0}, {1, 0, 0}};
const Rows kPredictions = {{1, 0, 0}, {1, 0, 0}, {0, 0, 0}, {0, 1, 0},
                           {1, 1, 0}, {0, 1, 0}, {1, 1, 0}, {0, 0, 0}};
const std::vector<std::string> kNames = {"joy", "fear", "no food at all"};

void add(LabelTally& tally, std::size_t begin, std::size_t end) {
  for (std::size_t row = begin; row < end; ++row) {
    tally.add({kAnswers[row], kPredictions[row], 0.1 * static_cast<double>(row)});
  }
}

LabelScores scores() {
  LabelTally tally(3);
  add(tally, 0, kAnswers.size());
  return scores_of(tally);
}

TEST(LabelScores, EqualScikitLearn) {
  const LabelScores own = scores();
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

TEST(LabelScores, RanksAddUpToTheSameBits) {
  LabelTally whole(3);
  add(whole, 0, 8);
  LabelTally sum(3);
  add(sum, 5, 8);
  LabelTally first(3);
  add(first, 0, 5);
  for (std::size_t i = 0; i < sum.values().size(); ++i) sum.values()[i] += first.values()[i];
  EXPECT_EQ(scores_of(sum).loss, scores_of(whole).loss);
  EXPECT_EQ(scores_of(sum).of_samples.recall, scores_of(whole).of_samples.recall);
  EXPECT_EQ(scores_of(sum).labels[1].f1, scores_of(whole).labels[1].f1);
}

// Rows without any label cannot be told from rows whose labels are unknown, unless some have one.
TEST(LabelScores, AreUnknownIfNoRowHasALabel) {
  LabelTally tally(3);
  tally.add({{false, false, false}, {true, false, false}, 1});
  const EvaluationSummary summary = summary_of(scores_of(tally));
  for (const char* key : {"loss", "f1_micro", "f1_macro", "subset_accuracy", "hamming_loss"}) {
    EXPECT_TRUE(std::isnan(summary.at(key))) << key;
  }
  EXPECT_EQ(summary_of(scores()).at("f1_macro"), 0.5);
}

TEST(LabelScores, TheReportEscapesNamesAndTexts) {
  const std::string page = label_sections(
      {"test",
       {"<b>", "fear", "food"},
       scores(),
       {{.text_id = 7, .loss = 1.5, .answers = "<b>|fear", .text = "a <script> text"}}});
  EXPECT_EQ(page.find("<script>"), std::string::npos);
  EXPECT_NE(page.find("is <b>&lt;b&gt;|fear</b>, predicted <b>none</b>; loss 1.50"),
            std::string::npos);
  EXPECT_NE(page.find("<th scope=\"row\">mean of samples</th><td>0.562</td>"), std::string::npos);
}

TEST(LabelScores, TheFileHasEachLabel) {
  EXPECT_EQ(classes_csv(scores().labels, kNames),
            "label,precision,recall,f1,samples,predictions\n"
            "joy,0.750000,0.750000,0.750000,4,4\n"
            "fear,0.750000,0.750000,0.750000,4,4\n"
            "no food at all,0.000000,0.000000,0.000000,2,0\n");
}

}  // namespace
}  // namespace bp::trainer
