#include "launcher/agent/launcher_watch.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "launcher/report/clock_text.h"

namespace bp::launcher {

using std::chrono::milliseconds;

void LauncherWatch::take(const Heartbeat& heartbeat) {
  if (heartbeat.lost_after_ms > 0) {
    lost_after_ = milliseconds(heartbeat.lost_after_ms);
  }
  missed_ = milliseconds(heartbeat.silent_ms) > kCheckAfter;
}

void LauncherWatch::look(Time heard) {
  const Time now = EventLoop::Clock::now();
  if (now - std::exchange(last_look_, now) > kOwnPause) {
    awake_since_ = now;
  }
  silence_ = now - std::max({heard, reached_, awake_since_});
  checks_.remove_if([](const LivenessCheck& check) { return check.ended(); });
  if (now - heard < kCheckAfter && !missed_) {
    failures_ = 0;
  } else if (target_ && now >= next_check_) {
    check(now);
  }
}

void LauncherWatch::check(Time now) {
  next_check_ = now + kCheckEvery;
  checks_.emplace_back(loop_, *target_, ++signs_, [this](const std::string& problem) {
    if (problem.empty()) {
      reached_ = EventLoop::Clock::now();
      failures_ = 0;
    } else {
      ++failures_;
      problem_ = problem;
    }
  });
}

std::string LauncherWatch::silence_text() const {
  return concat("for ", elapsed_text(lost_after_),
                failures_ == 0
                    ? ""
                    : concat(", not even by ", failures_,
                             failures_ == 1 ? " new connection to " : " new connections to ",
                             target_->store.text(), " (", problem_, ")"));
}

}  // namespace bp::launcher
