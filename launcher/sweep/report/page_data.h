// What the page of a sweep shows. Plain data, so that it can be rendered without a sweep.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/sweep/space/metric.h"
#include "launcher/sweep/space/trial.h"
#include "launcher/sweep/space/value.h"

namespace bp::launcher::sweep {

struct PageTrial {
  int number = 0;
  TrialState state = TrialState::waiting;
  Parameters parameters = {};
  std::optional<double> result = {};
  std::int64_t step = 0;
  double seconds = 0;
  std::string hosts = {};
  std::string reason = {};           // why it failed or was stopped
  std::vector<Report> reports = {};  // of the best kCurves trials only
};

inline constexpr std::size_t kCurves = 10;

struct PageData {
  std::string name = {};    // the sweep's folder
  std::string metric = {};  // "" if the trials report none
  Direction direction = Direction::max;
  std::string best_folder = {};  // of the best trial
  // The best first; then those without a result, by number.
  std::vector<PageTrial> trials = {};
};

// Puts the trials in the order that PageData wants.
void sort_trials(std::vector<PageTrial>& trials, Direction direction);

// The names of all parameters, in the order in which the trials have them.
[[nodiscard]] std::vector<std::string> parameter_names(const std::vector<PageTrial>& trials);

}  // namespace bp::launcher::sweep
