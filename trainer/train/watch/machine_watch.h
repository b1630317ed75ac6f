// Warns of a machine whose memory or cores run short while a run trains.
#pragma once

#include <chrono>
#include <cstdint>

#include "trainer/train/watch/memory_watch.h"

namespace bp::trainer {

// How long the threads of this process have run, and how long they could have run while no core was
// free: of all threads that there are, since they began.
struct CoreTime {
  std::chrono::steady_clock::time_point at;
  std::chrono::nanoseconds used{0};
  std::chrono::nanoseconds waited{0};
};
[[nodiscard]] CoreTime core_time();

// Notices that other programs use the cores of this rank, and then lets its threads sleep sooner.
//
// A thread of libgomp that waits for the others spins for some milliseconds before it sleeps,
// because the next loop mostly begins sooner. If other programs use the cores too, those that spin
// keep the thread for which they wait from running, and a step takes 20 to 100 times as long.
// libgomp spins for 1/3000 of that time in a process that has more threads than cores. A step then
// takes as long as its share of the cores lets it; without other programs it would take 3 to 20 %
// longer.
class BusyCores {
 public:
  // Returns true once: if in a second or more, threads have waited for over kWaited of that time,
  // added up, and `threads` cores were used for under kUsed of it. Threads of one process that wait
  // for each other leave no core unused.
  [[nodiscard]] bool look(const CoreTime& now, int threads);
  [[nodiscard]] bool due(std::chrono::steady_clock::time_point now) const;

  static constexpr std::chrono::seconds kWindow{1};
  static constexpr double kWaited = 0.2;
  static constexpr double kUsed = 0.8;

 private:
  CoreTime begin_ = {};  // of the current window
  bool found_ = false;
};

// Gives the process more threads than cores, by some that sleep until it ends, and returns true.
// Returns false, and changes nothing, if it has done so before, if that would take more than 256 of
// them, or if libgomp's variables already say how long threads spin.
bool sleep_sooner();

// Lets the threads of this process sleep sooner once other programs use its cores, and warns.
class CoreWatch {
 public:
  // Call it again and again from the thread that computes. `what`: what takes longer then, "a
  // step". `leads`: this rank is the first of its host, and warns.
  void look(const char* what, bool leads);

 private:
  BusyCores cores_;
};

class MachineWatch {
 public:
  // Call it after each step, from the thread that trains. `leads`: this rank is the first of its
  // host, and warns, since the ranks of a host share it.
  void after_step(std::int64_t step, bool leads);

 private:
  MemoryWatch memory_;
  CoreWatch cores_;
};

}  // namespace bp::trainer
