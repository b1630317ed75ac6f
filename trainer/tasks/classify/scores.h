// Scores of rows with one label each, or several, equal to scikit-learn's. A quotient without a
// meaning (for a class that never occurs or is never predicted) is 0, as with zero_division=0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trainer/report/evaluation_summary.h"
#include "trainer/tasks/classify/class_scores.h"
#include "trainer/tasks/classify/labelled_rows.h"
#include "trainer/tasks/classify/probability_scores.h"
#include "trainer/tasks/classify/tally.h"

namespace bp::trainer {

struct Scores {
  bool several = false;
  std::string rows_are = "samples";
  std::int64_t samples = 0;   // those that count: see LabelledRows::counts()
  std::int64_t labelled = 0;  // samples that have a label; 0: the answers are unknown
  double loss = 0;            // mean over the samples, and over the labels if a sample has several
  // Of one label a sample.
  double accuracy = 0;
  double mcc = 0;    // Matthews correlation, multi-class
  double kappa = 0;  // Cohen's
  // Of several labels a sample.
  double subset_accuracy = 0;   // share of the samples with exactly the right labels
  double hamming_loss = 0;      // share of wrong answers, over the samples and labels
  ClassScores micro = {};       // of all answers together
  ClassScores of_samples = {};  // mean of the scores of each sample's labels
  // The plain mean over the classes. Of one label a sample over those that occur or are predicted,
  // as scikit-learn's functions have it unless they are given labels; support: all samples.
  ClassScores macro = {};
  ClassScores macro_of_all = {};  // over all classes
  ClassScores weighted = {};      // mean weighted by support
  std::vector<ClassScores> classes = {};
  std::size_t counted = 0;  // in `macro`
};

// `losses`: those of the rows that count.
[[nodiscard]] Scores scores_of(const LabelledRows& rows, const LossSum& losses);

// The scores by which classifiers can be ranked. The first is accuracy, or f1_micro of several
// labels a sample.
[[nodiscard]] std::vector<MainScore> class_metrics(bool several);
// Returns the value of each of class_metrics(), the loss first. Of one label a sample it has
// top2_accuracy to top5_accuracy (those of `probabilities`), roc_auc, brier and ece, too. NaN for
// each if no sample had a label.
[[nodiscard]] EvaluationSummary summary_of(const Scores& scores,
                                           const ProbabilityScores& probabilities = {});

}  // namespace bp::trainer
