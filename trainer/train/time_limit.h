// How long a run has trained, by the clock of this process.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

namespace bp::trainer {

// Counts from its construction, on top of what earlier parts of the run took: training, evaluations
// and checkpoints, without the time between two parts.
class TimeLimit {
 public:
  using Clock = std::chrono::steady_clock;

  // `most`: 0 for no limit. `before`: seconds of earlier parts. A test gives another `now`.
  TimeLimit(std::chrono::seconds most,
            double before,
            std::function<Clock::time_point()> now = Clock::now)
      : most_(most), before_(before), now_(std::move(now)), begin_(now_()) {}

  [[nodiscard]] double elapsed() const {  // seconds
    return before_ + std::chrono::duration<double>(now_() - begin_).count();
  }
  [[nodiscard]] bool passed() const {
    return most_.count() > 0 && elapsed() >= static_cast<double>(most_.count());
  }

 private:
  std::chrono::seconds most_;
  double before_;
  std::function<Clock::time_point()> now_;
  Clock::time_point begin_;
};

}  // namespace bp::trainer
