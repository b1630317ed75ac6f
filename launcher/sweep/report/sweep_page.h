// sweep.html: one file that needs nothing from elsewhere.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launcher/sweep/space/metric.h"
#include "launcher/sweep/state/trial_record.h"

namespace bp::launcher::sweep {

inline constexpr std::size_t kCurves = 10;

// What the page shows. Plain data, so that it can be rendered without a sweep.
struct PageData {
  std::string name = {};    // the sweep's folder
  std::string metric = {};  // "" if the trials report none
  Direction direction = Direction::max;
  std::string best_folder = {};  // of the best trial
  // The best first; then those without a result, by number. A trial whose result does not count has
  // none here, and the seconds are those until now.
  std::vector<TrialRecord> trials = {};
  std::vector<std::vector<Report>> reports = {};  // of the first kCurves of them
};

// Puts the trials in the order that PageData wants.
void sort_trials(std::vector<TrialRecord>& trials, Direction direction);

// The names of all parameters, in the order in which the trials have them.
[[nodiscard]] std::vector<std::string> parameter_names(const std::vector<TrialRecord>& trials);

// Returns the whole page. It shows the best trial, the learning curves of the best kCurves, the
// importance of the parameters, all trials as parallel coordinates, a scatter for each parameter
// and a table. The page is complete without its script, which sorts the table.
[[nodiscard]] std::string sweep_page(const PageData& page);

}  // namespace bp::launcher::sweep
