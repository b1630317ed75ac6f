// Driver: how trials are asked to stop, one or all.
#include <poll.h>
#include <signal.h>

#include <chrono>

#include "base/text.h"
#include "launcher/report/exit_code.h"
#include "launcher/sweep/driver/driver.h"

namespace bp::launcher::sweep {
namespace {

using namespace std::chrono_literals;

constexpr auto kKillTime = 5s;  // for a trial's bprun to kill ranks that outlast --grace
constexpr auto kAbandonedLook = 200ms;

}  // namespace

void Driver::on_signal(int number) {
  const bool again = signals_received_++ > 0;
  if (again || abandoned_) {
    for (auto& [trial, run] : running_) {
      run.attempt.signal(SIGTERM);  // which makes a bprun that stops its ranks kill them
    }
    return;
  }
  stop_all(concat(signal_name(number), ": ", stopping_text(),
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

// Ends all trials without a word in sweep.sqlite, which could not be written. The next sweep finds
// them as those of one that was killed.
void Driver::abandon(const std::string& why) {
  abandoned_ = true;
  ending_ = kExitOutputLost;
  listener_.say(concat(why, "; ", stopping_text()));
  for (auto& [trial, run] : running_) {
    const int fd = run.attempt.fd();
    loop_.forget(fd);
    loop_.watch(fd, POLLIN, [this, fd, number = trial](short) {
      if (running_.at(number).attempt.exit_code()) {
        loop_.forget(fd);
        running_.erase(number);
      }
    });
    ask_to_stop(run);
  }
  const auto deadline = Clock::now() + settings_.bprun.grace + kKillTime;
  while (!running_.empty() && Clock::now() < deadline) {
    loop_.run_once(kAbandonedLook);
  }
}

std::string Driver::stopping_text() const {
  if (running_.empty()) return "no trial runs";
  return concat("stopping ", running_.size(), running_.size() == 1 ? " trial" : " trials",
                ", at most ", settings_.bprun.grace.count() / 1000, " s");
}

void Driver::ask_to_stop(TrialRun& run) {
  if (!run.was_asked) {
    run.was_asked = true;
    run.attempt.signal(SIGTERM);
  }
}

void Driver::stop_trial(int trial, StopReason why) {
  if (trials_[trial].asked == StopReason::none) {
    trials_.update(trial, [&](TrialRecord& record) { record.asked = why; });
    ask_to_stop(running_.at(trial));
  }
}

void Driver::stop_at_until(int trial) {
  stop_all(concat("trial ", trial, " has reached --until ", settings_.until->metric,
                  settings_.until->below ? "<" : ">", settings_.until->value),
           0);
}

}  // namespace bp::launcher::sweep
