// The time of day, for records.
#pragma once

#include <chrono>

#include "launcher/sweep/state/trial_record.h"

namespace bp::launcher::sweep {

[[nodiscard]] inline WallTime wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Of all attempts, with the one that runs.
[[nodiscard]] inline double seconds_until_now(const TrialRecord& trial) {
  const bool running = trial.state == TrialState::running;
  return trial.seconds + (running ? wall_time() - trial.attempt_started : 0);
}

}  // namespace bp::launcher::sweep
