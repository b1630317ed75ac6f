// A whole search of a test function, without processes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "launcher/sweep/sampling/trial_sampler.h"
#include "launcher/sweep/space/space.h"
#include "tests/unit/launcher/sweep/test_functions.h"

namespace bp::launcher::sweep {

// Returns the least value that `trials` trials find, minus the minimum. `at_once` trials run at a
// time, so that a proposal does not know the results of the at_once - 1 before it.
inline double regret_of(const TestFunction& function,
                        const std::string& sampler_name,
                        int trials,
                        int seed,
                        int at_once = 1) {
  const Space space =
      parse_space("sampler: " + sampler_name + "\ntrials: " + std::to_string(trials) +
                      "\nseed: " + std::to_string(seed) + "\n" + function.space,
                  function.name);
  const TrialSampler sampler(space, 0, Direction::min);
  std::vector<TrialHistory> history;
  double best = std::numeric_limits<double>::infinity();
  while (const auto plan = sampler.next(static_cast<int>(history.size()), history)) {
    TrialHistory trial{.index = plan->index, .parameters = plan->parameters};
    trial.state = TrialState::running;
    history.push_back(trial);
    best = std::min(best, function.value(plan->parameters));
    if (const auto done = static_cast<int>(history.size()) - at_once; done >= 0) {
      TrialHistory& ended = history[static_cast<std::size_t>(done)];
      ended.state = TrialState::finished;
      ended.result = function.value(ended.parameters);
    }
  }
  return best - function.minimum;
}

}  // namespace bp::launcher::sweep
