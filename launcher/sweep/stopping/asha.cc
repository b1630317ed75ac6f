#include "launcher/sweep/stopping/asha.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "launcher/sweep/stopping/rungs.h"

namespace bp::launcher::sweep {

std::int64_t Asha::rung_of(const TrialHistory& trial) const {
  const std::int64_t amount = trained(trial, spec_.unit);
  if (amount < spec_.min) return 0;
  std::int64_t rung = spec_.min;
  while (rung <= amount / spec_.factor) rung *= spec_.factor;
  return rung;
}

// Returns the trials to be promoted from the rung, best first.
std::vector<std::size_t> Asha::best_of_rung(std::int64_t rung,
                                            std::span<const TrialHistory> trials) const {
  std::vector<std::pair<double, std::size_t>> reached;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (const auto value = best_at(trials[i], rung, spec_.unit, direction_)) {
      reached.emplace_back(*value, i);
    }
  }
  std::stable_sort(reached.begin(), reached.end(), [&](const auto& a, const auto& b) {
    return is_better(direction_, a.first, b.first);
  });
  reached.resize(reached.size() / static_cast<std::size_t>(spec_.factor));
  std::vector<std::size_t> best;
  for (const auto& [value, trial] : reached) best.push_back(trial);
  return best;
}

Decision Asha::decide(std::size_t trial, std::span<const TrialHistory> trials) const {
  const std::int64_t rung = rung_of(trials[trial]);
  // Between two rungs there is nothing to decide, even if others have become better meanwhile.
  if (rung == 0 || trained_before(trials[trial], spec_.unit) >= rung) return Decision::go_on;
  const auto best = best_of_rung(rung, trials);
  const bool promoted = std::find(best.begin(), best.end(), trial) != best.end();
  return promoted ? Decision::go_on : Decision::pause_at_rung;
}

std::vector<std::size_t> Asha::promotable(std::span<const TrialHistory> trials) const {
  std::map<std::int64_t, bool, std::greater<>> rungs;  // the highest first
  for (const TrialHistory& trial : trials) {
    if (trial.state == TrialState::paused) rungs[rung_of(trial)] = true;
  }
  std::vector<std::size_t> found;
  for (const auto& [rung, paused] : rungs) {
    for (const std::size_t trial : best_of_rung(rung, trials)) {
      if (trials[trial].state == TrialState::paused && rung_of(trials[trial]) == rung) {
        found.push_back(trial);
      }
    }
  }
  return found;
}

}  // namespace bp::launcher::sweep
