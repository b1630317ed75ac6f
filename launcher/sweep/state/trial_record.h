// What sweep.sqlite holds of a trial.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launcher/sweep/space/trial.h"
#include "launcher/sweep/space/value.h"

namespace bp::launcher::sweep {

using WallTime = double;  // seconds since 1970; 0 for "never"

struct TrialRecord {
  int number = 0;  // in the sweep, from 0
  int block = 0;   // of SPACE
  int index = 0;   // in the block, from 0
  int repeat = 0;
  Parameters parameters = {};
  TrialState state = TrialState::waiting;
  int attempts = 0;         // that have started
  int failures = 0;         // attempts that ended with a code that counts for --max-restarts
  int exit_code = 0;        // of the last attempt that ended
  std::string reason = {};  // why it failed or was stopped, one line
  StopReason asked = StopReason::none;  // why the last attempt was asked to stop
  std::string hosts = {};               // "a:2,b:1", of the last attempt
  WallTime started = 0;                 // of the first attempt
  WallTime attempt_started = 0;
  WallTime ended = 0;                 // of the last attempt
  double seconds = 0;                 // of all attempts that have ended
  std::optional<double> result = {};  // the best value that it has reported
  std::int64_t result_step = 0;       // at which it reported that value first
  std::int64_t step = 0;              // the last step that it has reported
  std::int64_t output_offset = 0;     // where the last attempt begins in its stdout and stderr
  std::int64_t error_offset = 0;
};

}  // namespace bp::launcher::sweep
