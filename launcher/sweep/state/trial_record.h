// sweep.sqlite has one record of this form for each trial.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/fields.h"
#include "launcher/report/clock_text.h"
#include "launcher/sweep/space/trial.h"
#include "launcher/sweep/space/value.h"

namespace bp::launcher::sweep {

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
  WallTime started = 0;                 // of the first attempt; 0: never, as below
  WallTime attempt_started = 0;
  WallTime ended = 0;                 // of the last attempt
  double seconds = 0;                 // of all attempts that have ended
  std::optional<double> result = {};  // the best value that it has reported
  std::int64_t result_step = 0;       // at which it reported that value first
  std::int64_t step = 0;              // the last step that it has reported
  std::int64_t output_offset = 0;     // where the last attempt begins in its stdout and stderr
  std::int64_t error_offset = 0;
};

// See base/fields.h. A trial that has repeated the step of its result has no report of it any more.
void fields(auto& column, Of<TrialRecord> auto& it) {
  column("number", it.number);
  column("block", it.block);
  column("position", it.index);
  column("repeat", it.repeat);
  column("state", it.state);
  column("attempts", it.attempts);
  column("failures", it.failures);
  column("exit_code", it.exit_code);
  column("reason", it.reason);
  column("hosts", it.hosts);
  column("started", it.started);
  column("attempt_started", it.attempt_started);
  column("ended", it.ended);
  column("seconds", it.seconds);
  column("result", it.result);
  column("step", it.step);
  column("output_offset", it.output_offset);
  column("error_offset", it.error_offset);
  column("asked", it.asked);
  column("parameters", it.parameters);
  column.computed(
      "coalesce((SELECT min(metrics.step) FROM metrics WHERE metrics.trial=trials.number "
      "AND metrics.value=trials.result), trials.step)",
      it.result_step);
}

// Of all attempts, with the one that runs.
[[nodiscard]] inline double seconds_until_now(const TrialRecord& trial) {
  const bool running = trial.state == TrialState::running;
  return trial.seconds + (running ? wall_time() - trial.attempt_started : 0);
}

}  // namespace bp::launcher::sweep
