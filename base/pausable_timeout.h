// A timeout that pauses while this process is stopped (Ctrl-Z of the job). A wait is cut into
// slices, and the caller reads the clock after each slice. The time between two reads counts only
// up to `most_`, so a stop of any length uses up little of the timeout. On a busy machine late
// reads delay the end of the wait by as much, but the wait still ends.
//
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/deadline.h"

namespace bp {

class PausableTimeout {
 public:
  using Clock = Deadline::Clock;

  explicit PausableTimeout(std::chrono::milliseconds limit, Clock::time_point begin = Clock::now())
      : limit_(bounded(limit)),
        most_(std::clamp<Clock::duration>(limit_ / 4, kLeastCounted, kMostCounted)),
        looked_(begin) {}

  // Reads the clock and counts the time since the last call. Must be called after each slice.
  void look(Clock::time_point now = Clock::now()) {
    spent_ += std::min(now - looked_, most_);
    looked_ = now;
  }
  // The time by which look() must be called again.
  [[nodiscard]] Deadline slice() const {
    return Deadline(looked_ + std::min(limit_ - spent_, most_ / 2), {});
  }
  // Whether the timeout is over, as of the last look().
  [[nodiscard]] bool over() const { return spent_ >= limit_; }
  [[nodiscard]] std::chrono::milliseconds left() const {
    return std::chrono::ceil<std::chrono::milliseconds>(
        std::max(limit_ - spent_, Clock::duration::zero()));
  }

 private:
  // Bounds of `most_`, which is otherwise a quarter of the limit. The lower one is the delay that a
  // busy machine may cause. A slice lasts half of `most_`, so the upper one allows slices of 1 s.
  static constexpr std::chrono::milliseconds kLeastCounted{20};
  static constexpr std::chrono::milliseconds kMostCounted{2'000};

  Clock::duration limit_;
  Clock::duration most_;
  Clock::duration spent_{0};
  Clock::time_point looked_;
};

// Waits on `changed` until `condition` holds. Returns false if it does not hold when the timeout is
// over.
template <class Condition>
[[nodiscard]] bool wait_with_timeout(std::condition_variable& changed,
                                     std::unique_lock<std::mutex>& lock,
                                     PausableTimeout timeout,
                                     const Condition& condition) {
  while (!changed.wait_until(lock, timeout.slice().at(), condition)) {
    timeout.look();
    if (timeout.over()) return false;
  }
  return true;
}

}  // namespace bp
