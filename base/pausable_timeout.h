// How long somebody may wait, by a clock that stands still while this process does. Who is stopped
// with all others (Ctrl-Z of a job) goes on as patient as he was: of the time between two looks at
// the clock no more than a little counts. A wait is therefore made of slices, each followed by a
// look. On a busy machine looks come late, and the end with them by as much; it comes all the same.
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
      : limit_(limit),
        most_(std::clamp<Clock::duration>(limit_ / 4, kLeastCounted, kMostCounted)),
        looked_(begin) {}

  // Counts the time since the last look, of which there must be one after each slice.
  void look(Clock::time_point now = Clock::now()) {
    spent_ += std::min(now - looked_, most_);
    looked_ = now;
  }
  // By when to look again.
  [[nodiscard]] Deadline slice() const {
    return Deadline(looked_ + std::min(limit_ - spent_, most_ / 2), {});
  }
  // As of the last look.
  [[nodiscard]] bool over() const { return spent_ >= limit_; }
  [[nodiscard]] std::chrono::milliseconds left() const {
    return std::chrono::ceil<std::chrono::milliseconds>(
        std::max(limit_ - spent_, Clock::duration::zero()));
  }

 private:
  // Of the time between two looks: a quarter of the limit, but not less than a busy machine may be
  // late by, nor more than a slice of a second and as much again.
  static constexpr std::chrono::milliseconds kLeastCounted{20};
  static constexpr std::chrono::milliseconds kMostCounted{2'000};

  Clock::duration limit_;
  Clock::duration most_;
  Clock::duration spent_{0};
  Clock::time_point looked_;
};

// False where `condition` does not hold even when the patience is over.
template <class Condition>
[[nodiscard]] bool wait_with_timeout(std::condition_variable& changed,
                                     std::unique_lock<std::mutex>& lock,
                                     PausableTimeout patience,
                                     const Condition& condition) {
  while (!changed.wait_until(lock, patience.slice().at(), condition)) {
    patience.look();
    if (patience.over()) return false;
  }
  return true;
}

}  // namespace bp
