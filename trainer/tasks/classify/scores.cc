#include "trainer/tasks/classify/scores.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>

#include "base/text.h"

namespace bp::trainer {
namespace {

// Returns how often each class was true, was predicted, and both.
std::vector<ClassCounts> counts_of(const LabelledRows& rows) {
  std::vector<ClassCounts> counts(rows.labels.size());
  for (std::size_t row = 0; row < rows.answers.size(); ++row) {
    if (!rows.counts(row)) continue;
    const std::span<const int> answers = rows.answers.of(row);
    for (const int label : answers) ++counts[static_cast<std::size_t>(label)].support;
    for (const int label : rows.predictions.of(row)) {
      ClassCounts& of_class = counts[static_cast<std::size_t>(label)];
      ++of_class.predictions;
      of_class.both += std::ranges::binary_search(answers, label) ? 1 : 0;
    }
  }
  return counts;
}

// Sums over the classes.
struct Sums {
  double samples = 0;
  double correct = 0;
  double products = 0;
  double label_squares = 0;
  double prediction_squares = 0;
};

Sums sums_of(const std::vector<ClassCounts>& counts) {
  Sums sums;
  for (const ClassCounts& of_class : counts) {
    const auto labels = static_cast<double>(of_class.support);
    const auto predictions = static_cast<double>(of_class.predictions);
    sums.samples += labels;
    sums.correct += static_cast<double>(of_class.both);
    sums.products += labels * predictions;
    sums.label_squares += labels * labels;
    sums.prediction_squares += predictions * predictions;
  }
  return sums;
}

// Gorodkin's R_K: the correlation of two indicator matrices, from their covariances.
double matthews(const Sums& sums) {
  const double covariance = sums.correct * sums.samples - sums.products;
  const double all = sums.samples * sums.samples;
  const double label_variance = all - sums.label_squares;
  const double prediction_variance = all - sums.prediction_squares;
  return quotient(covariance, std::sqrt(label_variance * prediction_variance));
}

// Cohen's kappa: how much there is of the agreement that chance would not give.
double kappa(const Sums& sums) {
  return quotient(sums.correct * sums.samples - sums.products,
                  sums.samples * sums.samples - sums.products);
}

// The mean over the samples of the scores of each one's labels.
ClassScores mean_of_samples(const LabelledRows& rows) {
  LossSum precision(true);
  LossSum recall(true);
  LossSum f1(true);
  const auto samples = static_cast<std::int64_t>(rows.answers.size());
  for (std::size_t row = 0; row < rows.answers.size(); ++row) {
    const std::span<const int> answers = rows.answers.of(row);
    const std::span<const int> predictions = rows.predictions.of(row);
    const auto both = std::ranges::count_if(
        predictions, [&](int label) { return std::ranges::binary_search(answers, label); });
    const ClassScores scores = class_scores(
        {.support = std::ssize(answers), .predictions = std::ssize(predictions), .both = both});
    precision.add(scores.precision);
    recall.add(scores.recall);
    f1.add(scores.f1);
  }
  return {
      .precision = precision.mean(samples), .recall = recall.mean(samples), .f1 = f1.mean(samples)};
}

void set_scores_of_sets(const LabelledRows& rows, const ClassCounts& all, Scores& scores) {
  const auto samples = static_cast<double>(scores.samples);
  const std::int64_t wrong = all.support + all.predictions - 2 * all.both;
  std::int64_t exact = 0;
  for (std::size_t row = 0; row < rows.answers.size(); ++row) {
    exact += std::ranges::equal(rows.answers.of(row), rows.predictions.of(row)) ? 1 : 0;
  }
  scores.subset_accuracy = quotient(static_cast<double>(exact), samples);
  scores.hamming_loss =
      quotient(static_cast<double>(wrong), samples * static_cast<double>(rows.labels.size()));
  scores.micro = class_scores(all);
  scores.of_samples = mean_of_samples(rows);
  scores.of_samples.support = all.support;
  scores.of_samples.predictions = all.predictions;
  scores.macro = scores.macro_of_all;
}

}  // namespace

Scores scores_of(const LabelledRows& rows, const LossSum& losses) {
  const std::vector<ClassCounts> counts = counts_of(rows);
  Scores scores{.several = rows.several, .rows_are = rows.rows_are};
  for (std::size_t row = 0; row < rows.answers.size(); ++row) {
    scores.samples += rows.counts(row) ? 1 : 0;
    scores.labelled += rows.answers.of(row).empty() ? 0 : 1;
  }
  scores.loss = losses.mean(scores.samples);
  ClassMean macro;
  ClassMean macro_of_all;
  ClassMean weighted;
  ClassCounts all;
  for (const ClassCounts& of_class : counts) {
    scores.classes.push_back(class_scores(of_class));
    const bool occurs = of_class.support + of_class.predictions > 0;
    scores.counted += occurs ? 1 : 0;
    macro.add(scores.classes.back(), occurs ? 1 : 0);
    macro_of_all.add(scores.classes.back(), 1);
    weighted.add(scores.classes.back(), static_cast<double>(of_class.support));
    all.support += of_class.support;
    all.predictions += of_class.predictions;
    all.both += of_class.both;
  }
  scores.macro = macro.result();
  scores.macro_of_all = macro_of_all.result();
  scores.weighted = weighted.result();
  if (rows.several) {
    set_scores_of_sets(rows, all, scores);
  } else {
    const Sums sums = sums_of(counts);
    scores.accuracy = quotient(sums.correct, sums.samples);
    scores.mcc = matthews(sums);
    scores.kappa = kappa(sums);
  }
  return scores;
}

std::vector<MainScore> class_metrics(bool several) {
  if (several) {
    return {{"f1_micro", true},     {"loss", false},      {"f1_macro", true},
            {"f1_weighted", true},  {"f1_samples", true}, {"subset_accuracy", true},
            {"hamming_loss", false}};
  }
  return {{"accuracy", true},        {"loss", false},        {"mcc", true},
          {"kappa", true},           {"f1_macro", true},     {"f1_weighted", true},
          {"precision_macro", true}, {"recall_macro", true}, {"log_loss", false},
          {"roc_auc", true},         {"brier", false},       {"ece", false}};
}

EvaluationSummary summary_of(const Scores& scores, const ProbabilityScores& probabilities) {
  const auto known = [&](double score) {
    return scores.labelled == 0 ? std::numeric_limits<double>::quiet_NaN() : score;
  };
  if (scores.several) {
    return {{{"loss", known(scores.loss)},
             {"f1_micro", known(scores.micro.f1)},
             {"f1_macro", known(scores.macro.f1)},
             {"f1_weighted", known(scores.weighted.f1)},
             {"f1_samples", known(scores.of_samples.f1)},
             {"subset_accuracy", known(scores.subset_accuracy)},
             {"hamming_loss", known(scores.hamming_loss)}}};
  }
  EvaluationSummary summary{{{"loss", known(scores.loss)},
                             {"accuracy", known(scores.accuracy)},
                             {"mcc", known(scores.mcc)},
                             {"kappa", known(scores.kappa)},
                             {"f1_macro", known(scores.macro.f1)},
                             {"f1_weighted", known(scores.weighted.f1)},
                             {"precision_macro", known(scores.macro.precision)},
                             {"recall_macro", known(scores.macro.recall)}}};
  for (const auto& [k, share] : probabilities.top) {
    summary.scores.emplace_back(concat("top", k, "_accuracy"), known(share));
  }
  summary.scores.emplace_back("roc_auc", known(probabilities.roc_auc));
  summary.scores.emplace_back("brier", known(probabilities.brier));
  summary.scores.emplace_back("ece", known(probabilities.ece));
  summary.scores.emplace_back("log_loss", known(scores.loss));
  return summary;
}

}  // namespace bp::trainer
