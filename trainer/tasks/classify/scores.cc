#include "trainer/tasks/classify/scores.h"

#include <cmath>
#include <limits>

namespace bp::trainer {
namespace {

// How often each class was the true one, the predicted one, and both.
struct Margins {
  std::vector<double> labels;
  std::vector<double> predictions;
  std::vector<double> correct;
};

Margins margins_of(const Tally& tally) {
  const auto classes = static_cast<std::size_t>(tally.classes());
  Margins margins{.labels = std::vector<double>(classes),
                  .predictions = std::vector<double>(classes),
                  .correct = std::vector<double>(classes)};
  for (std::size_t i = 0; i < classes; ++i) {
    for (std::size_t j = 0; j < classes; ++j) {
      const auto n = static_cast<double>(
          tally.count({.label = static_cast<int>(i), .prediction = static_cast<int>(j)}));
      margins.labels[i] += n;
      margins.predictions[j] += n;
      margins.correct[i] += i == j ? n : 0;
    }
  }
  return margins;
}

double quotient(double dividend, double divisor) { return divisor == 0 ? 0 : dividend / divisor; }

// Sums over the classes.
struct Sums {
  double samples = 0;
  double correct = 0;
  double products = 0;
  double label_squares = 0;
  double prediction_squares = 0;
};

Sums sums_of(const Margins& margins) {
  Sums sums;
  for (std::size_t k = 0; k < margins.labels.size(); ++k) {
    sums.samples += margins.labels[k];
    sums.correct += margins.correct[k];
    sums.products += margins.labels[k] * margins.predictions[k];
    sums.label_squares += margins.labels[k] * margins.labels[k];
    sums.prediction_squares += margins.predictions[k] * margins.predictions[k];
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

// Computes a mean as numpy.average does: multiplies by the weights first and divides last, so that
// rounded tables agree.
class Mean {
 public:
  void add(const ClassScores& term, double weight) {
    sum_.precision += term.precision * weight;
    sum_.recall += term.recall * weight;
    sum_.f1 += term.f1 * weight;
    sum_.support += term.support;
    weight_ += weight;
  }
  [[nodiscard]] ClassScores result() const {
    return {.precision = quotient(sum_.precision, weight_),
            .recall = quotient(sum_.recall, weight_),
            .f1 = quotient(sum_.f1, weight_),
            .support = sum_.support};
  }

 private:
  ClassScores sum_;
  double weight_ = 0;
};

}  // namespace

Scores scores_of(const Tally& tally) {
  const Margins margins = margins_of(tally);
  Scores scores;
  scores.samples = tally.samples();
  scores.loss = tally.mean_loss();
  const Sums sums = sums_of(margins);
  scores.mcc = matthews(sums);
  scores.kappa = kappa(sums);
  double correct = 0;
  Mean macro;
  Mean weighted;
  for (std::size_t k = 0; k < margins.labels.size(); ++k) {
    const double both = margins.correct[k];
    correct += both;
    const ClassScores of_class{.precision = quotient(both, margins.predictions[k]),
                               .recall = quotient(both, margins.labels[k]),
                               .f1 = quotient(2 * both, margins.labels[k] + margins.predictions[k]),
                               .support = static_cast<std::int64_t>(margins.labels[k])};
    macro.add(of_class, 1);
    weighted.add(of_class, margins.labels[k]);
    scores.classes.push_back(of_class);
  }
  scores.macro = macro.result();
  scores.weighted = weighted.result();
  scores.accuracy = quotient(correct, static_cast<double>(scores.samples));
  return scores;
}

MainScore accuracy_score() { return {.key = "accuracy", .higher_is_better = true}; }

EvaluationSummary summary_of(const Scores& scores) {
  const auto known = [&](double score) {
    return scores.samples == 0 ? std::numeric_limits<double>::quiet_NaN() : score;
  };
  return {{{"loss", known(scores.loss)},
           {"accuracy", known(scores.accuracy)},
           {"mcc", known(scores.mcc)},
           {"kappa", known(scores.kappa)},
           {"f1_macro", known(scores.macro.f1)},
           {"log_loss", known(scores.loss)}}};
}

}  // namespace bp::trainer
