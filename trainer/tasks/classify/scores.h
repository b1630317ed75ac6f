// Scores from a confusion matrix, equal to scikit-learn's. A quotient without a meaning (for a
// class that never occurs or is never predicted) is 0, as with zero_division=0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trainer/report/evaluation_summary.h"
#include "trainer/tasks/classify/class_scores.h"
#include "trainer/tasks/classify/probability_scores.h"
#include "trainer/tasks/classify/tally.h"

namespace bp::trainer {

struct Scores {
  std::int64_t samples = 0;
  double loss = 0;  // mean over the samples
  double accuracy = 0;
  double mcc = 0;    // Matthews correlation, multi-class
  double kappa = 0;  // Cohen's
  // The plain mean over the classes that occur or are predicted, as scikit-learn's functions have
  // it unless they are given labels; support: all samples.
  ClassScores macro;
  ClassScores macro_of_all;  // the plain mean over all classes
  ClassScores weighted;      // mean weighted by support
  std::vector<ClassScores> classes;
  std::size_t counted = 0;  // in `macro`
};

[[nodiscard]] Scores scores_of(const Tally& tally);

// The scores by which classifiers can be ranked; accuracy is the first.
[[nodiscard]] std::vector<MainScore> class_metrics();
// Returns the value of each of class_metrics(), the loss first, and top2_accuracy to top5_accuracy
// (those of `probabilities`), roc_auc, brier and ece; NaN for each if no sample had a label.
[[nodiscard]] EvaluationSummary summary_of(const Scores& scores,
                                           const ProbabilityScores& probabilities);

}  // namespace bp::trainer
