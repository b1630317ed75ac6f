// Notices that other programs use the cores of this rank, and then lets its threads sleep sooner.
//
// A thread of libgomp that waits for the others spins for some milliseconds before it sleeps,
// because the next loop mostly begins sooner. If other programs use the cores too, those that spin
// keep the thread for which they wait from running, and a step takes 20 to 100 times as long.
// libgomp spins for 1/3000 of that time in a process that has more threads than cores. A step then
// takes as long as its share of the cores lets it; without other programs it would take 3 to 20 %
// longer.
#pragma once

#include <chrono>

namespace bp::trainer {

// The time in which threads of this process could run, but no core was free.
struct WaitedForCores {
  std::chrono::steady_clock::time_point at;
  std::chrono::nanoseconds waited{0};  // of all threads that there are, since they began
};
[[nodiscard]] WaitedForCores waited_for_cores();

class BusyCores {
 public:
  // Returns true once: if threads have waited for over kShare of a second or more, added up.
  [[nodiscard]] bool look(const WaitedForCores& now);
  [[nodiscard]] bool due(std::chrono::steady_clock::time_point now) const;

  static constexpr std::chrono::seconds kWindow{1};
  static constexpr double kShare = 0.15;

 private:
  WaitedForCores begin_ = {};  // of the current window
  bool found_ = false;
};

// Gives the process more threads than cores, by some that sleep until it ends. Returns false, and
// changes nothing, if that would take more than 256 of them, or if libgomp's variables already say
// how long threads spin.
bool sleep_sooner();

}  // namespace bp::trainer
