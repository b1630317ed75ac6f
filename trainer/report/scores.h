// The numbers that a confusion matrix gives, equal to scikit-learn's. Where a quotient has no
// meaning (a class never seen or never predicted) it is 0, as with zero_division=0.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/report/tally.h"

namespace bp::trainer {

struct ClassScores {
  double precision = 0;  // of those predicted as this class, the share that is
  double recall = 0;     // of those that are this class, the share predicted so
  double f1 = 0;
  std::int64_t support = 0;  // samples that are this class
};

struct Scores {
  std::int64_t samples = 0;
  double loss = 0;  // mean over samples
  double accuracy = 0;
  double mcc = 0;        // Matthews correlation, multi-class
  ClassScores macro;     // plain mean over classes; support: all samples
  ClassScores weighted;  // mean weighted by support
  std::vector<ClassScores> classes;
};

[[nodiscard]] Scores scores_of(const Tally& tally);

}  // namespace bp::trainer
