// Scores of predicted numbers, equal to scikit-learn's and SciPy's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/report/error_rows.h"
#include "trainer/report/evaluation_summary.h"
#include "trainer/tasks/exact_sum.h"

namespace bp::trainer {

// Exact sums of numbers and their products, as integers. Adding up ranks is one all_reduce(sum) of
// values(), so the result is bit-identical for any number and order of ranks.
class RegressTally {
 public:
  RegressTally();

  void add(double target, double prediction);

  [[nodiscard]] std::int64_t samples() const { return values_[0]; }
  // Mean squared and mean absolute error; 0 without samples.
  [[nodiscard]] double mean_squared_error() const;
  [[nodiscard]] double mean_absolute_error() const;
  // Pearson's correlation of targets and predictions; NaN if one of them is constant or not finite.
  [[nodiscard]] double pearson() const;

  // The layout is private to this class; the size is always the same.
  [[nodiscard]] std::span<std::int64_t> values() { return values_; }

 private:
  enum Sum : std::uint8_t { squares, distances, x, y, xx, yy, xy, count };

  [[nodiscard]] std::span<const std::int64_t, ExactSum::kSize> digits(Sum sum) const;
  [[nodiscard]] double mean(Sum sum) const;

  std::vector<std::int64_t> values_;  // number of samples, then the digits of each sum
};

// Returns the rank of each number, from 1; equal numbers have the mean of their ranks.
[[nodiscard]] std::vector<double> ranks_of(std::span<const double> numbers);

// Returns Spearman's correlation, which is Pearson's of the ranks; NaN if one side is constant or
// not finite. The two sides must have the same number of values.
[[nodiscard]] double spearman(std::span<const double> targets, std::span<const double> predictions);

struct RegressScores {
  std::int64_t samples = 0;
  double mean_squared_error = 0;
  double mean_absolute_error = 0;
  double pearson = 0;
  double spearman = 0;
  std::string no_correlation = {};  // why both correlations are NaN; empty if they are numbers
};

// `targets` and `predictions`: those of all samples that were added to the tally, on any rank.
[[nodiscard]] RegressScores regress_scores(const RegressTally& tally,
                                           std::span<const double> targets,
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
