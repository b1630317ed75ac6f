// Waits for a device by asking it: a device cannot wake a thread that must also see a stop.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/deadline.h"

namespace bp {

// Asks until `is_done` returns true, ever more rarely. Returns false at the deadline, or once
// `stop` is set.
template <class IsDone>
bool ask_until(const Deadline& deadline, const std::atomic<bool>& stop, const IsDone& is_done) {
  constexpr std::chrono::microseconds kShortest{20};
  constexpr std::chrono::microseconds kLongest{1000};
  for (auto pause = kShortest; !is_done(); pause = std::min(2 * pause, kLongest)) {
    if (deadline.passed() || stop.load(std::memory_order_acquire)) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

}  // namespace bp
