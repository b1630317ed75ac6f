// Measures one task.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/comm/task.h"
#include "bp/communicator.h"

namespace bp::bench {

struct Measurement {
  double median_us = 0;
  double p99_us = 0;
  std::int64_t wrong = 0;  // wrong elements of all ranks and runs, including the warm-up
};

struct Pace {
  int iterations = 1;
  double seconds = 0;  // stop after this time, but not before 5 runs; 0: no limit
  bool touch = false;  // write the input again before every timed run
};

// Collective: every rank must call it with the same task, and all get the same result. The time of
// a run is that of its slowest rank, from a barrier to the rank's result. Without `touch` a run
// uses the data that the run before has left, in the caches in which they are; every few runs the
// input is restored, and then comes one run that is not timed. The result is checked before the
// input is restored, and depends on all runs since the last time.
[[nodiscard]] Measurement measure(Communicator& comm, Task& task, const Pace& pace);

// Returns the smallest value that is not below a share `q` of the values. `sorted` must not be
// empty.
[[nodiscard]] double quantile(const std::vector<double>& sorted, double q);

}  // namespace bp::bench
