#include "trainer/tasks/regress/regress_scores.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/exact_sum.h"

namespace bp::trainer {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using SumDigits = std::span<const std::int64_t, ExactSum::kSize>;
// Doubles whose sum is an exact sum, the largest first. Three have room for a sum of products of
// equal numbers, so that the variance of constant data is exactly 0.
using Parts = std::array<double, 3>;

Parts parts_of(SumDigits digits) {
  std::array<std::int64_t, ExactSum::kSize> rest{};
  std::ranges::copy(digits, rest.begin());
  ExactSum sum(rest);
  Parts parts{};
  for (double& part : parts) {
    part = sum.value();
    sum.add(-part);
  }
  return parts;
}

// Returns samples * products - x * y, which is rounded only at the end.
double centred(double samples, const Parts& products, const Parts& x, const Parts& y) {
  std::array<std::int64_t, ExactSum::kSize> digits{};
  ExactSum sum(digits);
  for (const double part : products) sum.add_product(samples, part);
  for (const double a : x) {
    for (const double b : y) sum.add_product(-a, b);
  }
  return sum.value();
}

bool all_finite(std::span<const double> numbers) {
  return std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); });
}

bool all_equal(std::span<const double> numbers) {
  return std::ranges::adjacent_find(numbers, std::not_equal_to()) == numbers.end();
}

std::string why_no_correlation(std::span<const double> targets,
                               std::span<const double> predictions) {
  if (targets.size() < 2) return "there are fewer than two samples";
  if (!all_finite(targets)) return "a target is not finite";
  if (!all_finite(predictions)) return "a prediction is not finite";
  if (all_equal(targets)) return concat("all targets are ", brief(targets[0]));
  if (all_equal(predictions)) return concat("all predictions are ", brief(predictions[0]));
  return "";
}

// Exact sums of numbers and their products.
class NumberSums {
 public:
  NumberSums(std::span<const double> targets, std::span<const double> predictions)
      : samples_(static_cast<double>(targets.size())) {
    BP_CHECK(targets.size() == predictions.size(), "each target needs a prediction");
    for (std::size_t i = 0; i < targets.size(); ++i) add(targets[i], predictions[i]);
  }

  // 0 without samples.
  [[nodiscard]] double mean_squared_error() const { return mean(squares); }
  [[nodiscard]] double mean_absolute_error() const { return mean(distances); }
  // Pearson's correlation; NaN if one side is constant or not finite.
  [[nodiscard]] double pearson() const {
    const Parts sum_x = parts_of(digits_[x]);
    const Parts sum_y = parts_of(digits_[y]);
    const double variance_x = centred(samples_, parts_of(digits_[xx]), sum_x, sum_x);
    const double variance_y = centred(samples_, parts_of(digits_[yy]), sum_y, sum_y);
    if (!(variance_x > 0 && variance_y > 0)) return kNan;
    const double covariance = centred(samples_, parts_of(digits_[xy]), sum_x, sum_y);
    return std::clamp(covariance / std::sqrt(variance_x) / std::sqrt(variance_y), -1.0, 1.0);
  }

 private:
  enum Sum : std::uint8_t { squares, distances, x, y, xx, yy, xy, count };

  void add(double target, double prediction) {
    const auto sum = [&](Sum which) { return ExactSum(digits_[which]); };
    const double difference = prediction - target;
    sum(squares).add_product(difference, difference);
    sum(distances).add(std::abs(difference));
    sum(x).add(target);
    sum(y).add(prediction);
    sum(xx).add_product(target, target);
    sum(yy).add_product(prediction, prediction);
    sum(xy).add_product(target, prediction);
  }
  [[nodiscard]] double mean(Sum sum) const {
    return samples_ == 0 ? 0 : ExactSum::value_of(digits_[sum]) / samples_;
  }

  double samples_;
  std::array<std::array<std::int64_t, ExactSum::kSize>, count> digits_{};
};

}  // namespace

std::vector<double> ranks_of(std::span<const double> numbers) {
  std::vector<std::size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return numbers[i]; });
  std::vector<double> ranks(numbers.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && numbers[order[end]] == numbers[order[begin]]) ++end;
    const double mean = static_cast<double>(begin + 1 + end) / 2;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = mean;
  }
  return ranks;
}

double spearman(std::span<const double> targets, std::span<const double> predictions) {
  if (!all_finite(targets) || !all_finite(predictions)) return kNan;
  const std::vector<double> x = ranks_of(targets);
  const std::vector<double> y = ranks_of(predictions);
  return NumberSums(x, y).pearson();
}

RegressScores regress_scores(std::span<const double> targets, std::span<const double> predictions) {
  const NumberSums tally(targets, predictions);
  return {.samples = static_cast<std::int64_t>(targets.size()),
          .mean_squared_error = tally.mean_squared_error(),
          .mean_absolute_error = tally.mean_absolute_error(),
          .pearson = tally.pearson(),
          .spearman = spearman(targets, predictions),
          .no_correlation = why_no_correlation(targets, predictions)};
}

EvaluationSummary summary_of(const RegressScores& scores) {
  const bool any = scores.samples > 0;
  return {{{"loss", any ? scores.mean_squared_error : kNan},
           {"mae", any ? scores.mean_absolute_error : kNan},
           {"pearson", scores.pearson},
           {"spearman", scores.spearman}}};
}

ErrorRows error_rows(const std::string& split, std::vector<ScoredNumber> scored) {
  const auto distance = [](const ScoredNumber& of) { return std::abs(of.prediction - of.target); };
  ErrorRows errors{.split = split, .order = "the largest errors"};
  for (const ScoredNumber& one : worst_of(std::move(scored), distance)) {
    errors.rows.push_back({.answer = brief(one.target),
                           .prediction = brief(one.prediction),
                           .text_id = one.text_id,
                           .sample_id = one.sample_id});
  }
  return errors;
}

std::string regress_line(const std::string& name, const RegressScores& scores) {
  const std::string correlations =
      scores.no_correlation.empty()
          ? concat("Pearson ", fixed(scores.pearson, 4), ", Spearman ", fixed(scores.spearman, 4))
          : concat("no correlation because ", scores.no_correlation);
  return concat(name, ": mean squared error ", brief(scores.mean_squared_error),
                ", mean absolute error ", brief(scores.mean_absolute_error), ", ", correlations,
                ", ", with_commas(scores.samples), " ", scores.rows_are);
}

}  // namespace bp::trainer
