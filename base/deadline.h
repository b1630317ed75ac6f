// A point in time by which a wait must end. Every wait in bp takes one.
#pragma once

#include <algorithm>
#include <chrono>

namespace bp {

// A timeout may be milliseconds::max(), for "as long as it takes". It ends after ten years, so that
// points in time do not overflow.
[[nodiscard]] constexpr std::chrono::milliseconds bounded(std::chrono::milliseconds timeout) {
  return std::min<std::chrono::milliseconds>(timeout, std::chrono::years(10));
}

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(std::chrono::milliseconds from_now) : Deadline(Clock::now(), from_now) {}
  // For a caller that has already read the clock: one read takes half as long as a barrier of two
  // ranks in shared memory.
  Deadline(Clock::time_point begin, std::chrono::milliseconds after)
      : at_(begin + bounded(after)) {}

  [[nodiscard]] bool passed() const { return Clock::now() >= at_; }
  [[nodiscard]] Clock::time_point at() const { return at_; }
  // Never negative. Rounded up, so that after a wait of this length the deadline has passed.
  [[nodiscard]] std::chrono::milliseconds left() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now());
    return std::max(left, std::chrono::milliseconds{0});
  }

 private:
  Clock::time_point at_;
};

}  // namespace bp
