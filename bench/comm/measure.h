// Times one task. Every rank calls it with the same task; all get the same result.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/comm/task.h"
#include "bp/communicator.h"

namespace bp::bench {

struct Measurement {
  double median_us = 0;
  double p99_us = 0;
  std::int64_t wrong = 0;  // elements over all ranks and runs, those to warm up included
};

struct Pace {
  int iterations = 1;
  double seconds = 0;  // stop after so long, yet not before 5 runs; 0: no limit
  bool touch = false;  // write the input anew before every timed run
};

// A run's time is that of its slowest rank, from when all ranks were ready (a barrier) to when that
// rank had its result. Without `touch` a run finds what the one before has left, in whatever caches
// that lies; the input is restored every few runs, and an untimed run follows. Results are checked
// before each restoration, and cover all runs since the last one.
[[nodiscard]] Measurement measure(Communicator& comm, Task& task, const Pace& pace);

// The value below or at which a share `q` of the values lie. `sorted` must not be empty.
[[nodiscard]] double quantile(const std::vector<double>& sorted, double q);

}  // namespace bp::bench
