#include "trainer/tasks/classify/scores.h"

#include <cmath>
#include <limits>

#include "base/text.h"

namespace bp::trainer {
namespace {

std::vector<ClassCounts> counts_of(const Tally& tally) {
  std::vector<ClassCounts> counts(static_cast<std::size_t>(tally.classes()));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    for (std::size_t j = 0; j < counts.size(); ++j) {
      const std::int64_t n =
          tally.count({.label = static_cast<int>(i), .prediction = static_cast<int>(j)});
      counts[i].support += n;
      counts[j].predictions += n;
      if (i == j) counts[i].both = n;
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

}  // namespace

Scores scores_of(const Tally& tally) {
  const std::vector<ClassCounts> counts = counts_of(tally);
  const Sums sums = sums_of(counts);
  Scores scores;
  scores.samples = tally.samples();
  scores.loss = tally.mean_loss();
  scores.accuracy = quotient(sums.correct, sums.samples);
  scores.mcc = matthews(sums);
  scores.kappa = kappa(sums);
  ClassMean macro;
  ClassMean macro_of_all;
  ClassMean weighted;
  for (const ClassCounts& of_class : counts) {
    scores.classes.push_back(class_scores(of_class));
    const bool occurs = of_class.support + of_class.predictions > 0;
    scores.counted += occurs ? 1 : 0;
    macro.add(scores.classes.back(), occurs ? 1 : 0);
    macro_of_all.add(scores.classes.back(), 1);
    weighted.add(scores.classes.back(), static_cast<double>(of_class.support));
  }
  scores.macro = macro.result();
  scores.macro_of_all = macro_of_all.result();
  scores.weighted = weighted.result();
  return scores;
}

std::vector<MainScore> class_metrics() {
  return {{"accuracy", true},        {"loss", false},        {"mcc", true},
          {"kappa", true},           {"f1_macro", true},     {"f1_weighted", true},
          {"precision_macro", true}, {"recall_macro", true}, {"log_loss", false},
          {"roc_auc", true},         {"brier", false},       {"ece", false}};
}

EvaluationSummary summary_of(const Scores& scores, const ProbabilityScores& probabilities) {
  const auto known = [&](double score) {
    return scores.samples == 0 ? std::numeric_limits<double>::quiet_NaN() : score;
  };
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
