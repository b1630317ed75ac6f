#include "launcher/sweep/stopping/median.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "launcher/sweep/stopping/rungs.h"

namespace bp::launcher::sweep {
namespace {

// Returns the mean of the reports up to `amount`, nullopt if the trial has trained less or the mean
// is no number.
std::optional<double> mean_at(const TrialHistory& trial, std::int64_t amount, StopSpec::Unit unit) {
  if (trained(trial, unit) < amount) return std::nullopt;
  double sum = 0;
  std::int64_t count = 0;
  for (const Report& report : trial.reports) {
    if ((unit == StopSpec::Unit::reports ? count : report.step) >= amount && count > 0) break;
    sum += report.value;
    ++count;
  }
  const double mean = sum / static_cast<double>(count);
  return std::isfinite(mean) ? std::optional(mean) : std::nullopt;
}

}  // namespace

Decision MedianStopping::decide(std::size_t trial, std::span<const TrialHistory> trials) const {
  const std::int64_t amount = trained(trials[trial], spec_.unit);
  if (amount < spec_.min) return Decision::go_on;
  std::vector<double> means;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (i == trial) continue;
    if (const auto mean = mean_at(trials[i], amount, spec_.unit)) means.push_back(*mean);
  }
  if (means.size() < static_cast<std::size_t>(spec_.trials)) return Decision::go_on;
  std::sort(means.begin(), means.end());
  const std::size_t half = means.size() / 2;
  const double median = means.size() % 2 == 1 ? means[half] : (means[half - 1] + means[half]) / 2;
  const auto best = best_at(trials[trial], amount, spec_.unit, direction_);
  return is_better(direction_, median, *best) ? Decision::stop : Decision::go_on;
}

}  // namespace bp::launcher::sweep
