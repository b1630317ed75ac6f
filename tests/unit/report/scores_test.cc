// scikit-learn 1.9.1 computed the golden values by these calls, where t and p are the expanded
// matrix and L = range(classes):
//   matthews_corrcoef(t, p), cohen_kappa_score(t, p),
//   f1_score(t, p, average="macro", zero_division=0), for macro_of_all with labels=L,
//   classification_report(t, p, labels=L, target_names=names, digits=3, zero_division=0)
// but for "macro avg", which is that of classification_report() without labels.
#include "trainer/tasks/classify/scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "bp/error.h"
#include "tests/support/labelled_rows.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/classify/confusions.h"
#include "trainer/tasks/classify/tables.h"

namespace bp::trainer {
namespace {

const Counts kFour = {{13, 2, 0, 5}, {1, 40, 3, 0}, {0, 7, 9, 1}, {2, 0, 0, 17}};
const Counts kTwo = {{781, 131}, {77, 832}};
const Counts kNeverSeen = {{5, 0, 0}, {3, 0, 0}, {0, 0, 0}};

// docs/features.md, Evaluation and reports: Accuracy, Matthews, kappa, F1, ROC-AUC, top-k and
// calibration | `summary.json`, the report
TEST(Scores, EqualScikitLearn) {
  const Scores four = scores_of(kFour);
  EXPECT_DOUBLE_EQ(four.mcc, 0.6992855967695292);
  EXPECT_DOUBLE_EQ(four.kappa, 0.6949004794421036);
  EXPECT_DOUBLE_EQ(four.accuracy, 0.79);
  EXPECT_DOUBLE_EQ(four.macro.f1, 0.7531626851704716);
  EXPECT_DOUBLE_EQ(four.weighted.f1, 0.7822658332891926);
  const Scores two = scores_of(kTwo);
  EXPECT_DOUBLE_EQ(two.mcc, 0.7729361097049824);
  EXPECT_DOUBLE_EQ(two.kappa, 0.7715757898126739);
  EXPECT_DOUBLE_EQ(two.accuracy, 0.885777045579352);
  EXPECT_DOUBLE_EQ(two.macro.f1, 0.8856873822975517);
  EXPECT_DOUBLE_EQ(two.weighted.f1, 0.8856821079868578);
}

TEST(Scores, AreZeroWhereScikitLearnReturnsZero) {
  const Scores scores = scores_of(kNeverSeen);
  EXPECT_DOUBLE_EQ(scores.mcc, 0);  // only one class is predicted, so there is no correlation
  EXPECT_DOUBLE_EQ(scores.kappa, 0);
  EXPECT_DOUBLE_EQ(scores.macro.f1, 0.38461538461538464) << "of the two classes that occur";
  EXPECT_DOUBLE_EQ(scores.macro_of_all.f1, 0.25641025641025644);
  EXPECT_EQ(scores.counted, 2U);
  EXPECT_DOUBLE_EQ(scores.weighted.f1, 0.4807692307692308);
  EXPECT_DOUBLE_EQ(scores.classes[2].recall, 0);

  const Scores none = scores_of(Counts{{0, 0}, {0, 0}});
  EXPECT_EQ(none.samples, 0);
  EXPECT_DOUBLE_EQ(none.accuracy, 0);
  EXPECT_DOUBLE_EQ(none.loss, 0);
}

TEST(Tables, ClassificationEqualsScikitLearnsByteForByte) {
  EXPECT_EQ(classification_table(scores_of(kFour), {"w", "x", "y", "z"}),
            "              precision    recall  f1-score   support\n"
            "\n"
            "           w      0.812     0.650     0.722        20\n"
            "           x      0.816     0.909     0.860        44\n"
            "           y      0.750     0.529     0.621        17\n"
            "           z      0.739     0.895     0.810        19\n"
            "\n"
            "    accuracy                          0.790       100\n"
            "   macro avg      0.779     0.746     0.753       100\n"
            "weighted avg      0.790     0.790     0.782       100\n");
  EXPECT_EQ(classification_table(scores_of(kNeverSeen),
                                 {"a", "b\xC3\xA9", "a label longer than the rest"}),
            "                              precision    recall  f1-score   support\n"
            "\n"
            "                           a      0.625     1.000     0.769         5\n"
            "                          b\xC3\xA9      0.000     0.000     0.000         3\n"
            "a label longer than the rest      0.000     0.000     0.000         0\n"
            "\n"
            "                    accuracy                          0.625         8\n"
            "                   macro avg      0.312     0.500     0.385         8\n"
            "                      of all      0.208     0.333     0.256         8\n"
            "                weighted avg      0.391     0.625     0.481         8\n");
}

// A class that is predicted counts, and so does one that occurs and is never predicted.
TEST(Scores, ClassesThatNeitherOccurNorArePredictedAreNotInTheMean) {
  const Scores all_right = scores_of(Counts{{0, 0}, {0, 25}});
  EXPECT_EQ(all_right.macro.f1, 1);
  EXPECT_EQ(all_right.macro.precision, 1);
  EXPECT_EQ(all_right.macro.recall, 1);
  EXPECT_EQ(all_right.macro_of_all.f1, 0.5);
  EXPECT_EQ(score_line("test", all_right),
            "test: accuracy 1.0000, F1 1.0000 (mean of 1 of 2 classes), loss 0.0000, 25 samples");
  const Scores never_true = scores_of(Counts{{0, 0, 0}, {2, 2, 0}, {0, 0, 0}});
  EXPECT_EQ(never_true.counted, 2U);
  EXPECT_DOUBLE_EQ(never_true.macro.f1, 1.0 / 3) << "of 2/3 and 0";
  EXPECT_THAT(score_line("test", scores_of(kFour)), testing::HasSubstr("(mean of classes)"));
}

TEST(Tables, ConfusionHasSums) {
  EXPECT_EQ(confusion_table(tally_of(kTwo), {"negative", "a label of more than twenty letters"}),
            "true \\ predicted          negative  a label of more\xE2\x80\xA6               sum\n"
            "        negative               781               131               912\n"
            "a label of more\xE2\x80\xA6                77               832               909\n"
            "             sum               858               963              1821\n");
}

// Predictions confuse label i with label i + 1: 3 times in 10 if i is even, once if it is odd.
Counts counts_of_many(int classes) {
  const auto size = static_cast<std::size_t>(classes);
  Counts counts(size, std::vector<int>(size));
  for (std::size_t i = 0; i < size; ++i) {
    const int wrong = i % 2 == 0 ? 3 : 1;
    counts[i][i] = 10 - wrong;
    counts[i][(i + 1) % size] = wrong;
  }
  return counts;
}

std::vector<std::string> many_labels(int classes) {
  std::vector<std::string> labels;
  for (int i = 0; i < classes; ++i) labels.push_back(concat("a topic of number ", i));
  return labels;
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, code_points(line));
  return longest;
}

TEST(Tables, OfTenLabelsTheMatrixFitsATerminal) {
  std::vector<std::string> digits;
  for (int i = 0; i < 10; ++i) digits.push_back(concat(i));
  const std::string table = confusion_table(tally_of(counts_of_many(10)), digits);
  EXPECT_THAT(table, testing::StartsWith("true \\ predicted"));
  EXPECT_LE(longest_line(table), 75U);
}

TEST(Tables, LabelsThatAreEqualWhenCutAreShownInAList) {
  EXPECT_THAT(
      confusion_table(tally_of(counts_of_many(6)), many_labels(6)),
      testing::StartsWith("                true             predicted  samples  of true\n"));
}

TEST(Tables, LabelsCannotControlTheTerminalOrBreakLines) {
  const std::vector<std::string> labels = {"l\x1b[32mone", "two\b\b\nX", "three", "four"};
  for (const std::string& table :
       {confusion_table(tally_of(kFour), labels), classification_table(scores_of(kFour), labels)}) {
    EXPECT_EQ(table.find_first_of("\x1b\b"), std::string::npos) << table;
    EXPECT_THAT(table, testing::HasSubstr(" l [32mone "));
    EXPECT_THAT(table, testing::HasSubstr("two   X "));
  }
}

// docs/acceptance.md, Runs: Reports of 1,000 labels stay readable.
TEST(Tables, OfManyLabelsAPageIsShown) {
  for (const int classes : {21, 100, 1000}) {
    const Counts counts = counts_of_many(classes);
    const std::string confusions = confusion_table(tally_of(counts), many_labels(classes));
    EXPECT_THAT(confusions, testing::StartsWith(
                                "                true             predicted  samples  of true\n"
                                " a topic of number 0   a topic of number 1        3    30.0%\n"));
    EXPECT_THAT(confusions,
                testing::EndsWith(concat("and ", classes == 1000 ? "980" : concat(classes - 20),
                                         " less frequent confusions\n")));
    EXPECT_LE(longest_line(confusions), 75U);
    const std::string scores = classification_table(scores_of(counts), many_labels(classes));
    EXPECT_THAT(scores, testing::HasSubstr(concat("(the 20 of ",
                                                  classes == 1000 ? "1,000" : concat(classes),
                                                  " labels with the lowest f1-score)\n")));
    EXPECT_LE(longest_line(scores), 75U);
    EXPECT_LE(std::count(scores.begin(), scores.end(), '\n'), 27);
  }
  Tally right(30);
  for (int i = 0; i < 30; ++i) right.add({.label = i, .prediction = i});
  EXPECT_EQ(confusion_table(right, many_labels(30)), "no label was confused with another\n");
}

// docs/features.md, Evaluation and reports: A confusion matrix | `confusion.csv`, the report
TEST(Confusions, AreCountedAndGrouped) {
  const Tally tally = tally_of(kFour);
  const std::vector<Confusion> all = confusions_of(tally);
  ASSERT_EQ(all.size(), 7U);
  EXPECT_EQ(all[0].label, 2);
  EXPECT_EQ(all[0].prediction, 1);
  EXPECT_EQ(all[0].count, 7);
  EXPECT_DOUBLE_EQ(all[0].share, 7.0 / 17);
  EXPECT_THAT(most_confused(tally, 2), testing::ElementsAre(1, 2));
  EXPECT_THAT(most_confused(tally, 4), testing::ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(grouped_matrix(tally, {1, 2}),
              testing::ElementsAre(testing::ElementsAre(40, 3, 1), testing::ElementsAre(7, 9, 1),
                                   testing::ElementsAre(2, 0, 37)));
  EXPECT_THAT(lowest_scores(scores_of(kFour).classes, 2), testing::ElementsAre(2, 0));
  EXPECT_THAT(lowest_scores(scores_of(kNeverSeen).classes, 2), testing::ElementsAre(1, 0))
      << "a class without samples must be left out";
}

TEST(Confusions, AreWholeAsCsv) {
  EXPECT_EQ(classes_csv(scores_of(kNeverSeen).classes, {"a", "b, c", "d"}),
            "label,precision,recall,f1,samples,predictions\n"
            "a,0.625000,1.000000,0.769231,5,8\n"
            "\"b, c\",0.000000,0.000000,0.000000,3,0\n"
            "d,0.000000,0.000000,0.000000,0,0\n");
  EXPECT_EQ(confusion_csv(tally_of(kNeverSeen), {"a", "b, c", "d"}),
            "label,prediction,samples\na,a,5\n\"b, c\",a,3\n");
}

TEST(LossSum, IsTheSameInAnyOrder) {
  constexpr int kSamples = 1000;
  for (const bool exact : {false, true}) {
    LossSum forward(exact);
    LossSum backward(exact);
    for (int i = 0; i < kSamples; ++i) {
      forward.add(std::sqrt(1.0 + i) / 3.0);
      backward.add(std::sqrt(1.0 * kSamples - i) / 3.0);
    }
    EXPECT_EQ(forward.mean(kSamples), backward.mean(kSamples));
  }
}

TEST(LossSum, IsExactToANanoNat) {
  LossSum losses(false);
  losses.add(0.123456789);
  losses.add(2.0);
  EXPECT_NEAR(losses.mean(2), 1.0617283945, 1e-9);
}

TEST(LossSum, BoundsInfiniteLossAndKeepsNaN) {
  LossSum losses(false);
  losses.add(std::numeric_limits<double>::infinity());
  EXPECT_DOUBLE_EQ(losses.mean(1), LossSum::kLargestLoss);
  losses.add(std::nan(""));
  EXPECT_TRUE(std::isnan(losses.mean(2)));
}

TEST(Tally, RefusesInvalidClasses) {
  const auto text_of = [](auto&& act) -> std::string {
    try {
      act();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(text_of([] { Tally tally(1); }), "evaluation of 1 class(es): at least two are needed");
  EXPECT_EQ(text_of([] { Tally(2).add({.label = -1, .prediction = 1}); }),
            "label -1 with prediction 1: classes are 0 to 1");
}

}  // namespace
}  // namespace bp::trainer
