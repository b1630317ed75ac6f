// Driver: how trials are asked to stop, one or all.
#include <signal.h>

#include "base/text.h"
#include "launcher/report/exit_code.h"
#include "launcher/sweep/driver/driver.h"

namespace bp::launcher::sweep {

void Driver::on_signal(int number) {
  const bool again = signals_received_++ > 0;
  if (again) {
    for (auto& [trial, run] : running_) {
      run.attempt.signal(SIGTERM);  // which makes a bprun that stops its ranks kill them
    }
    return;
  }
  stop_all(concat(signal_name(number), ": stopping ", running_.size(), " trials, at most ",
                  settings_.bprun.grace.count() / 1000, " s",
                  number == SIGINT ? " (press Ctrl-C again to kill them)" : ""),
           number == SIGINT ? kExitInterrupted : kExitTemporary);
}

void Driver::stop_all(const std::string& why, int exit_code) {
  if (ending_) {
    return;
  }
  ending_ = exit_code;
  listener_.say(why);
  state_.event(why, std::nullopt);
  for (auto& [trial, run] : running_) {
    stop_trial(trial, StopReason::sweep_ends);
  }
}

void Driver::stop_trial(int trial, StopReason why) {
  if (trials_[trial].asked == StopReason::none) {
    trials_.update(trial, [&](TrialRecord& record) { record.asked = why; });
    running_.at(trial).attempt.signal(SIGTERM);
  }
}

void Driver::stop_at_until(int trial) {
  stop_all(concat("trial ", trial, " has reached --until ", settings_.until->metric,
                  settings_.until->below ? "<" : ">", settings_.until->value),
           0);
}

}  // namespace bp::launcher::sweep
