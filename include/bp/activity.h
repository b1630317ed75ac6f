// Shows the activity of a communicator: counters since its creation, and the record of its last
// operations, which every communicator keeps.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "bp/export.h"

namespace BP_API bp {

// Bytes are those of the caller's views. Time spent waiting for other ranks is part of the busy
// time. Over shared memory a wait counts only after some tens of microseconds, in which the rank
// spins.
struct Counters {
  struct Kind {
    std::string operation;  // "all_reduce"
    std::string algorithm;  // "ring"
    std::uint64_t operations = 0;
    std::uint64_t bytes = 0;
    double seconds_busy = 0;
    double seconds_waiting = 0;
  };

  std::uint64_t operations = 0;  // that succeeded
  std::uint64_t bytes = 0;
  double seconds_busy = 0;  // inside collectives
  double seconds_waiting = 0;
  std::vector<Kind> kinds = {};  // the same by operation and algorithm
};

// One operation of the recent past.
struct RecordedOperation {
  enum class State : std::uint8_t { under_way, done, failed };

  State state = State::done;
  std::uint64_t sequence = 0;  // among the collectives, or messages, of its communicator
  std::string text;            // "all_reduce sum of 1000 f32 'loss'"
  std::string algorithm;       // "ring"; empty before one is chosen
  std::uint64_t bytes = 0;
  std::chrono::system_clock::time_point begun;
  std::chrono::nanoseconds took{0};    // up to now, while it is in progress
  std::chrono::nanoseconds waited{0};  // 0 while it is in progress
};

}  // namespace bp
