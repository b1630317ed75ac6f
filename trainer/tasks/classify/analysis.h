// The sections of report.html that say where a classifier errs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/report/section.h"
#include "trainer/tasks/classify/probability_scores.h"

namespace bp::trainer {

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
