// The scores of one class, or of one label of several, equal to scikit-learn's. A quotient without
// a meaning (for a class that never occurs or is never predicted) is 0, as with zero_division=0.
#pragma once

#include <cstdint>

namespace bp::trainer {

struct ClassScores {
  double precision = 0;  // share of the samples predicted as this class that are this class
  double recall = 0;     // share of the samples of this class that are predicted as such
  double f1 = 0;
  std::int64_t support = 0;      // number of samples of this class
  std::int64_t predictions = 0;  // number of samples predicted as this class
};

// How often a class was true, was predicted, and both.
struct ClassCounts {
  std::int64_t support = 0;
  std::int64_t predictions = 0;
  std::int64_t both = 0;
};

[[nodiscard]] inline double quotient(double dividend, double divisor) {
  return divisor == 0 ? 0 : dividend / divisor;
}

[[nodiscard]] inline ClassScores class_scores(const ClassCounts& counts) {
  const auto both = static_cast<double>(counts.both);
  const auto predictions = static_cast<double>(counts.predictions);
  const auto support = static_cast<double>(counts.support);
  return {.precision = quotient(both, predictions),
          .recall = quotient(both, support),
          .f1 = quotient(2 * both, support + predictions),
          .support = counts.support,
          .predictions = counts.predictions};
}

// Computes a mean as numpy.average does: multiplies by the weights first and divides last, so that
// rounded tables agree.
class ClassMean {
 public:
  void add(const ClassScores& term, double weight) {
    sum_.precision += term.precision * weight;
    sum_.recall += term.recall * weight;
    sum_.f1 += term.f1 * weight;
    sum_.support += term.support;
    sum_.predictions += term.predictions;
    weight_ += weight;
  }
  [[nodiscard]] ClassScores result() const {
    return {.precision = quotient(sum_.precision, weight_),
            .recall = quotient(sum_.recall, weight_),
            .f1 = quotient(sum_.f1, weight_),
            .support = sum_.support,
            .predictions = sum_.predictions};
  }

 private:
  ClassScores sum_;
  double weight_ = 0;
};

}  // namespace bp::trainer
