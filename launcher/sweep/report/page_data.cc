#include "launcher/sweep/report/page_data.h"

#include <algorithm>

namespace bp::launcher::sweep {

void sort_trials(std::vector<PageTrial>& trials, Direction direction) {
  std::sort(trials.begin(), trials.end(), [&](const PageTrial& a, const PageTrial& b) {
    if (a.result.has_value() != b.result.has_value()) return a.result.has_value();
    if (a.result && is_better(direction, *a.result, *b.result)) return true;
    if (a.result && is_better(direction, *b.result, *a.result)) return false;
    return a.number < b.number;
  });
}

std::vector<std::string> parameter_names(const std::vector<PageTrial>& trials) {
  std::vector<std::string> names;
  for (const PageTrial& trial : trials) {
    for (const auto& [name, value] : trial.parameters) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

}  // namespace bp::launcher::sweep
