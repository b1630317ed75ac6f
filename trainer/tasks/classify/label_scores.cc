#include "trainer/tasks/classify/label_scores.h"

#include <cstddef>
#include <limits>

namespace bp::trainer {

LabelScores scores_of(const LabelTally& tally) {
  LabelScores scores;
  scores.samples = tally.samples();
  scores.labelled = tally.labelled();
  scores.loss = tally.mean_loss();
  ClassCounts all;
  ClassMean macro;
  ClassMean weighted;
  for (std::size_t label = 0; label < tally.labels(); ++label) {
    const ClassCounts counts = tally.of_label(label);
    all.support += counts.support;
    all.predictions += counts.predictions;
    all.both += counts.both;
    scores.labels.push_back(class_scores(counts));
    macro.add(scores.labels.back(), 1);
    weighted.add(scores.labels.back(), static_cast<double>(counts.support));
  }
  scores.micro = class_scores(all);
  scores.macro = macro.result();
  scores.weighted = weighted.result();
  scores.of_samples = {.precision = tally.mean_precision(),
                       .recall = tally.mean_recall(),
                       .f1 = tally.mean_f1(),
                       .support = all.support,
                       .predictions = all.predictions};
  const auto samples = static_cast<double>(tally.samples());
  scores.subset_accuracy = quotient(static_cast<double>(tally.exact()), samples);
  const std::int64_t wrong = all.support + all.predictions - 2 * all.both;
  scores.hamming_loss =
      quotient(static_cast<double>(wrong), samples * static_cast<double>(tally.labels()));
  return scores;
}

std::vector<MainScore> label_metrics() {
  return {{"f1_micro", true},     {"loss", false},      {"f1_macro", true},
          {"f1_weighted", true},  {"f1_samples", true}, {"subset_accuracy", true},
          {"hamming_loss", false}};
}

EvaluationSummary summary_of(const LabelScores& scores) {
  const auto known = [&](double score) {
    return scores.labelled == 0 ? std::numeric_limits<double>::quiet_NaN() : score;
  };
  return {{{"loss", known(scores.loss)},
           {"f1_micro", known(scores.micro.f1)},
           {"f1_macro", known(scores.macro.f1)},
           {"f1_weighted", known(scores.weighted.f1)},
           {"f1_samples", known(scores.of_samples.f1)},
           {"subset_accuracy", known(scores.subset_accuracy)},
           {"hamming_loss", known(scores.hamming_loss)}}};
}

}  // namespace bp::trainer
