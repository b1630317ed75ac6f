// The sections of report.html that say where a classifier errs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/report/section.h"
#include "trainer/tasks/classify/probability_scores.h"

namespace bp::trainer {

// How exactly a share is known from a sample.
struct Interval {
  double low = 0;
  double high = 1;
};

// Returns Wilson's 95 % confidence interval of the share `right` / `samples`; 0 to 1 without
// samples.
[[nodiscard]] inline Interval wilson_interval(std::int64_t right, std::int64_t samples) {
  if (samples == 0) return {};
  constexpr double kZ = 1.959963984540054;  // 97.5 % of a normal distribution are below it
  const auto n = static_cast<double>(samples);
  const double share = static_cast<double>(right) / n;
  const double centre = share + kZ * kZ / (2 * n);
  const double reach = kZ * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  const double scale = 1 + kZ * kZ / n;
  return {std::max((centre - reach) / scale, 0.0), std::min((centre + reach) / scale, 1.0)};
}

struct AnalysedSplit {
  std::string split = {};  // "test"
  std::vector<std::string> labels = {};
  ClassProbabilities given = {};
  std::vector<std::int32_t> lengths = {};  // of the samples, in tokens; empty: unknown
};

// The accuracy in all, by label and by length, each with its 95 % confidence interval.
[[nodiscard]] Section accuracy_section(const AnalysedSplit& analysed);
// How far the probabilities can be trusted.
[[nodiscard]] Section calibration_section(const AnalysedSplit& analysed);
// The ROC and PR curves; only of two labels.
[[nodiscard]] Sections curves_section(const AnalysedSplit& analysed);

// Returns all of them.
[[nodiscard]] Sections analysis_sections(const AnalysedSplit& analysed);

// How often a label occurs in each split.
struct LabelCounts {
  std::string split = {};
  std::vector<std::int64_t> counts = {};  // one for each label
};
[[nodiscard]] Section label_counts_section(const std::vector<std::string>& labels,
                                           const std::vector<LabelCounts>& splits);

}  // namespace bp::trainer
