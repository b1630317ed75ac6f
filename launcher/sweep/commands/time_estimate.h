// How long the trials of a sweep will take, for --dry-run.
#pragma once

#include <optional>
#include <string>

#include "launcher/sweep/driver/sweep_settings.h"
#include "launcher/sweep/space/trial.h"

namespace bp::launcher::sweep {

struct TimeEstimate {
  double trial_seconds = 0;  // of one trial
  double seconds = 0;        // of all trials that have not ended, on all slots
  int left = 0;              // these trials
  std::string source;        // "12 trials that have finished took ..." or "bert_train estimate ..."
};

// From the trials that have finished in the sweep's folder. Returns nothing if there are none.
[[nodiscard]] std::optional<TimeEstimate> time_of_finished(const SweepSettings& settings, int all);

// From a few steps of `first`, the first trial, which bert_train estimate runs on this machine.
// Blocks for at most five minutes. Returns why there is no estimate in `problem`, as one line.
[[nodiscard]] std::optional<TimeEstimate> time_of_steps(const SweepSettings& settings,
                                                        const TrialPlan& first,
                                                        int all,
                                                        std::string& problem);

// One line for people.
[[nodiscard]] std::string shown(const TimeEstimate& time);

}  // namespace bp::launcher::sweep
