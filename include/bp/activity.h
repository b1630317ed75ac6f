// What a communicator has done: counters since its creation, and its flight recorder, which is
// always on and keeps the last operations.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "bp/export.h"

namespace BP_API bp {

// Bytes are those of the caller's views. Waiting is for other ranks, part of being busy; over
// shared memory it counts from where a rank no longer expects the other at any moment, after some
// ten microseconds.
struct Counters {
  struct Kind {
    std::string operation;  // "all_reduce"
    std::string algorithm;  // "ring"
    std::uint64_t operations = 0;
    std::uint64_t bytes = 0;
    double seconds_busy = 0;
    double seconds_waiting = 0;
  };

  std::uint64_t operations = 0;  // that came to a good end
  std::uint64_t bytes = 0;
  double seconds_busy = 0;  // inside collectives
  double seconds_waiting = 0;
  std::vector<Kind> kinds = {};  // the same by what was done and how
};

// One operation of the recent past.
struct RecordedOperation {
  enum class State : std::uint8_t { under_way, done, failed };

  State state = State::done;
  std::uint64_t sequence = 0;  // how many collectives of all its ranks had begun before
  std::string text;            // "all_reduce sum of 1000 f32 'loss'"
  std::string algorithm;       // "ring"; empty before one is chosen
  std::uint64_t bytes = 0;
  std::chrono::system_clock::time_point begun;
  std::chrono::nanoseconds took{0};    // until now, while it is under way
  std::chrono::nanoseconds waited{0};  // 0 while it is under way
};

}  // namespace bp
