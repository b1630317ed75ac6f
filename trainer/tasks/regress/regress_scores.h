// Scores of predicted numbers, equal to scikit-learn's and SciPy's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/report/error_rows.h"
#include "trainer/report/evaluation_summary.h"

namespace bp::trainer {

// Returns the rank of each number, from 1; equal numbers have the mean of their ranks.
[[nodiscard]] std::vector<double> ranks_of(std::span<const double> numbers);

// Returns Spearman's correlation, which is Pearson's of the ranks; NaN if one side is constant or
// not finite. The two sides must have the same number of values.
[[nodiscard]] double spearman(std::span<const double> targets, std::span<const double> predictions);

struct RegressScores {
  std::string rows_are = "samples";  // or texts
  std::int64_t samples = 0;
  double mean_squared_error = 0;
  double mean_absolute_error = 0;
  double pearson = 0;
  double spearman = 0;
  std::string no_correlation = {};  // why both correlations are NaN; empty if they are numbers
};

// From exact sums, so the order of the samples does not matter.
[[nodiscard]] RegressScores regress_scores(std::span<const double> targets,
                                           std::span<const double> predictions);

// NaN for what has no value.
[[nodiscard]] EvaluationSummary summary_of(const RegressScores& scores);

// A sample with a target.
struct ScoredNumber {
  std::int64_t sample_id = 0;
  std::int64_t text_id = 0;
  double target = 0;
  double prediction = 0;
};
// Returns the rows with the largest errors; of equal ones, the first. They lack their texts.
[[nodiscard]] ErrorRows error_rows(const std::string& split, std::vector<ScoredNumber> scored);

// Returns the line for the terminal. `name`: what was scored, such as "test".
[[nodiscard]] std::string regress_line(const std::string& name, const RegressScores& scores);

}  // namespace bp::trainer
