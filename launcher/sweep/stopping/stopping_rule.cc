#include "launcher/sweep/stopping/stopping_rule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

namespace bp::launcher::sweep {

std::int64_t StoppingRule::trained(const TrialHistory& trial, std::size_t reports) const {
  if (spec_.unit == StopSpec::Unit::reports) return static_cast<std::int64_t>(reports);
  return reports == 0 ? 0 : trial.reports[reports - 1].step;
}

std::optional<double> StoppingRule::best_at(const TrialHistory& trial, std::int64_t amount) const {
  std::optional<double> best;
  for (std::size_t i = 0; i < trial.reports.size(); ++i) {
    const double value = trial.reports[i].value;
    if (!best || is_better(direction_, value, *best)) best = value;
    if (trained(trial, i + 1) >= amount) return best;
  }
  return std::nullopt;
}

std::optional<double> StoppingRule::mean_at(const TrialHistory& trial, std::int64_t amount) const {
  if (trained(trial) < amount) return std::nullopt;
  const bool by_reports = spec_.unit == StopSpec::Unit::reports;
  double sum = 0;
  std::int64_t count = 0;
  for (const Report& report : trial.reports) {
    if ((by_reports ? count : report.step) >= amount && count > 0) break;
    sum += report.value;
    ++count;
  }
  const double mean = sum / static_cast<double>(count);
  return std::isfinite(mean) ? std::optional(mean) : std::nullopt;
}

std::int64_t StoppingRule::rung_of(const TrialHistory& trial) const {
  const std::int64_t amount = trained(trial);
  if (amount < spec_.min) return 0;
  std::int64_t rung = spec_.min;
  while (rung <= amount / spec_.factor) rung *= spec_.factor;
  return rung;
}

std::vector<std::size_t> StoppingRule::best_of_rung(std::int64_t rung,
                                                    std::span<const TrialHistory> trials) const {
  std::vector<std::pair<double, std::size_t>> reached;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (const auto value = best_at(trials[i], rung)) reached.emplace_back(*value, i);
  }
  std::ranges::stable_sort(reached, [&](const auto& a, const auto& b) {
    return is_better(direction_, a.first, b.first);
  });
  reached.resize(reached.size() / static_cast<std::size_t>(spec_.factor));
  std::vector<std::size_t> best;
  for (const auto& [value, trial] : reached) best.push_back(trial);
  return best;
}

Decision StoppingRule::by_rung(std::size_t trial, std::span<const TrialHistory> trials) const {
  const TrialHistory& own = trials[trial];
  const std::int64_t rung = rung_of(own);
  // Between two rungs there is nothing to decide, even if others have become better meanwhile.
  if (rung == 0 || trained(own, own.reports.size() - 1) >= rung) return Decision::go_on;
  const auto best = best_of_rung(rung, trials);
  return std::ranges::find(best, trial) != best.end() ? Decision::go_on : Decision::pause_at_rung;
}

Decision StoppingRule::by_median(std::size_t trial, std::span<const TrialHistory> trials) const {
  const std::int64_t amount = trained(trials[trial]);
  if (amount < spec_.min) return Decision::go_on;
  std::vector<double> means;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (i == trial) continue;
    if (const auto mean = mean_at(trials[i], amount)) means.push_back(*mean);
  }
  if (means.size() < static_cast<std::size_t>(spec_.trials)) return Decision::go_on;
  std::ranges::sort(means);
  const std::size_t half = means.size() / 2;
  const double median = means.size() % 2 == 1 ? means[half] : (means[half - 1] + means[half]) / 2;
  const auto best = best_at(trials[trial], amount);
  return is_better(direction_, median, *best) ? Decision::stop : Decision::go_on;
}

Decision StoppingRule::decide(std::size_t trial, std::span<const TrialHistory> trials) const {
  switch (spec_.rule) {
    case StopSpec::Rule::asha:
      return by_rung(trial, trials);
    case StopSpec::Rule::median:
      return by_median(trial, trials);
    case StopSpec::Rule::none:
      break;
  }
  return Decision::go_on;
}

std::vector<std::size_t> StoppingRule::promotable(std::span<const TrialHistory> trials) const {
  if (spec_.rule != StopSpec::Rule::asha) return {};
  std::set<std::int64_t, std::greater<>> rungs;  // the highest first
  for (const TrialHistory& trial : trials) {
    if (trial.state == TrialState::paused) rungs.insert(rung_of(trial));
  }
  std::vector<std::size_t> found;
  for (const std::int64_t rung : rungs) {
    for (const std::size_t trial : best_of_rung(rung, trials)) {
      if (trials[trial].state == TrialState::paused && rung_of(trials[trial]) == rung) {
        found.push_back(trial);
      }
    }
  }
  return found;
}

}  // namespace bp::launcher::sweep
