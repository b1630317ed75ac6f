// Scores of several labels a sample, equal to scikit-learn's for indicator matrices.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/report/evaluation_summary.h"
#include "trainer/tasks/classify/class_scores.h"
#include "trainer/tasks/classify/label_tally.h"

namespace bp::trainer {

struct LabelScores {
  std::int64_t samples = 0;
  std::int64_t labelled = 0;   // samples that have a label; 0: the answers are unknown
  double loss = 0;             // mean binary cross entropy over the samples and labels
  double subset_accuracy = 0;  // share of the samples with exactly the right labels
  double hamming_loss = 0;     // share of wrong answers, over the samples and labels
  ClassScores micro;           // of all answers together
  ClassScores macro;           // plain mean over the labels
  ClassScores weighted;        // mean weighted by support
  ClassScores of_samples;      // mean of the scores of each sample's labels
  std::vector<ClassScores> labels;
};

[[nodiscard]] LabelScores scores_of(const LabelTally& tally);

// The scores by which models of several labels can be ranked; f1_micro is the first.
[[nodiscard]] std::vector<MainScore> label_metrics();
// Returns the value of each of label_metrics(), the loss first; NaN for each if no sample had a
// label.
[[nodiscard]] EvaluationSummary summary_of(const LabelScores& scores);

}  // namespace bp::trainer
