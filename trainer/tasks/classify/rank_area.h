// How well scores put the samples of a class before the others: the area under the ROC curve.
#pragma once

#include <vector>

namespace bp::trainer {

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

}  // namespace bp::trainer
