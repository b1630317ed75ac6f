#include "launcher/sweep/stopping/rungs.h"

#include <cstddef>

namespace bp::launcher::sweep {

std::int64_t trained(const TrialHistory& trial, StopSpec::Unit unit) {
  if (unit == StopSpec::Unit::reports) return static_cast<std::int64_t>(trial.reports.size());
  return trial.reports.empty() ? 0 : trial.reports.back().step;
}

std::int64_t trained_before(const TrialHistory& trial, StopSpec::Unit unit) {
  if (trial.reports.size() < 2) return 0;
  if (unit == StopSpec::Unit::reports) return static_cast<std::int64_t>(trial.reports.size()) - 1;
  return trial.reports[trial.reports.size() - 2].step;
}

std::optional<double> best_at(const TrialHistory& trial,
                              std::int64_t amount,
                              StopSpec::Unit unit,
                              Direction direction) {
  std::optional<double> best;
  for (std::size_t i = 0; i < trial.reports.size(); ++i) {
    const Report& report = trial.reports[i];
    if (!best || is_better(direction, report.value, *best)) best = report.value;
    const std::int64_t now =
        unit == StopSpec::Unit::reports ? static_cast<std::int64_t>(i) + 1 : report.step;
    if (now >= amount) return best;
  }
  return std::nullopt;
}

}  // namespace bp::launcher::sweep
