// Describes a trial for the sampler, the stopping rule and the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "launcher/sweep/space/value.h"

namespace bp::launcher::sweep {

enum class TrialState : std::uint8_t {
  waiting,  // for slots: for its first attempt, or to be resumed
  running,  // as far as the file knows; after a kill of the sweep, an attempt that is to be resumed
  finished,  // the program ended with 0
  failed,    // it ended with another code, and no restart is left
  stopped,   // the rule or the user stopped it for good
  paused,    // at a rung; may be promoted, and then resumes
  skipped,   // the program declined these parameters (kExitSkipped)
};
inline constexpr std::size_t kTrialStates = 7;

[[nodiscard]] std::string_view name_of(TrialState state);
// Whether the result of such a trial counts: not if it failed or was skipped.
[[nodiscard]] constexpr bool may_be_best(TrialState state) {
  return state != TrialState::failed && state != TrialState::skipped;
}
// Whether `bprun sweep retry` runs such a trial again.
[[nodiscard]] constexpr bool may_be_retried(TrialState state) {
  return state == TrialState::failed || state == TrialState::stopped ||
         state == TrialState::skipped;
}
[[nodiscard]] std::optional<TrialState> trial_state_of(std::string_view name);

// Why the sweep has asked an attempt to stop. The trial's state follows from it, unless the program
// ends with 0, which means that it has finished.
enum class StopReason : std::uint8_t { none, rule, rung, user, sweep_ends };

[[nodiscard]] std::string_view name_of(StopReason reason);
[[nodiscard]] std::optional<StopReason> stop_reason_of(std::string_view name);

// A value of the metric, as the program reported it.
struct Report {
  std::int64_t step = 0;
  double value = 0;
};

struct TrialPlan {
  int number = -1;  // in the sweep, from 0; the driver gives it
  int block = 0;    // of SPACE
  int index = 0;    // in the block, from 0
  int repeat = 0;   // which of the trials with these parameters, from 0
  Parameters parameters = {};
};

struct TrialHistory {
  int index = 0;  // in its block
  Parameters parameters = {};
  TrialState state = TrialState::waiting;
  std::vector<Report> reports = {};   // by step
  std::optional<double> result = {};  // the best value so far
  std::int64_t result_step = 0;       // at which it was first reported
};

}  // namespace bp::launcher::sweep
