// Scores of the probabilities that a classifier gives, where a confusion matrix knows only the most
// probable class. Ranks gather the probabilities, and each computes the same scores in the same
// order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "trainer/report/pr_curve.h"

namespace bp::trainer {

// How well scores put the samples of a class before the others: the area under the ROC curve.
struct RankedSample {
  float score = 0;        // the higher, the more likely it is of the class
  bool positive = false;  // it is of the class
};

// Returns the share of the pairs of a positive and another sample in which the positive one has the
// higher score; equal scores count half. It is exact and depends on no order. NaN unless both kinds
// occur.
[[nodiscard]] double roc_auc(std::vector<RankedSample> samples);

struct CurvePoint {
  double x = 0;
  double y = 0;
};

// A point for each score, from the highest one down, at which what has at least this score counts
// as positive.
struct RankCurves {
  std::vector<CurvePoint> roc = {};        // true by false positive rate; begins at (0, 0)
  std::vector<CurvePoint> precision = {};  // by recall
};

// Both are empty unless both kinds of samples occur and no score is NaN.
[[nodiscard]] RankCurves rank_curves(std::vector<RankedSample> samples);

// A split with what a model says of it.
struct ClassProbabilities {
  std::span<const float> shares = {};  // [samples, classes]
  std::size_t classes = 0;
  std::vector<int> labels = {};  // the true class of each sample; -1: it has none

  [[nodiscard]] std::span<const float> of(std::size_t sample) const {
    return shares.subspan(sample * classes, classes);
  }
};

// The samples whose highest probability is in one of kBins ranges of equal width.
struct CalibrationBin {
  std::int64_t samples = 0;
  std::int64_t right = 0;  // those whose most probable class is the true one
  double confidence = 0;   // sum of their highest probabilities
};
inline constexpr std::size_t kCalibrationBins = 15;
using Calibration = std::array<CalibrationBin, kCalibrationBins>;

struct ProbabilityScores {
  // For k = 2, 3 and 5, where there are more classes: k, and the share of the samples whose true
  // class is among the k most probable ones. Of equally probable classes the first one counts as
  // more probable, as in a prediction.
  std::vector<std::pair<int, double>> top = {};
  // The area under the ROC curve. Of two classes that of the second one; of more classes the mean
  // over those that occur, each one against the rest. NaN if only one class occurs.
  double roc_auc = std::numeric_limits<double>::quiet_NaN();
  // The mean squared error of the probabilities, summed over the classes; of two classes that of
  // one of them, which is half the sum.
  double brier = 0;
  // The expected calibration error: the mean over the samples of how far the mean confidence of
  // their bin is from its accuracy.
  double ece = 0;
};

// Returns the samples that have a label with their probabilities of one class.
[[nodiscard]] std::vector<RankedSample> ranked_samples(const ClassProbabilities& given,
                                                       std::size_t positive);

// Scores the samples that have a label.
[[nodiscard]] ProbabilityScores probability_scores(const ClassProbabilities& given);
// Returns the curve of one class at 201 thresholds.
[[nodiscard]] PrCurve pr_curve(const ClassProbabilities& given, std::size_t of);
[[nodiscard]] Calibration calibration_of(const ClassProbabilities& given);
[[nodiscard]] double expected_calibration_error(const Calibration& bins);

}  // namespace bp::trainer
