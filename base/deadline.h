// A point in time by which a wait must end. Every wait in bp takes one.
#pragma once

#include <algorithm>
#include <chrono>

namespace bp {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(std::chrono::milliseconds from_now) : Deadline(Clock::now(), from_now) {}
  // For who has looked at the clock already, which takes as long as half a meeting of two ranks.
  Deadline(Clock::time_point begin, std::chrono::milliseconds after) : at_(begin + after) {}

  [[nodiscard]] bool passed() const { return Clock::now() >= at_; }
  [[nodiscard]] Clock::time_point at() const { return at_; }
  // Never negative; rounded up, so that a wait of this length has really passed the deadline.
  [[nodiscard]] std::chrono::milliseconds left() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now());
    return std::max(left, std::chrono::milliseconds{0});
  }

 private:
  Clock::time_point at_;
};

}  // namespace bp
