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

// A run's time is that of its slowest rank, from when all ranks were ready (a barrier) to when that
// rank had its result. Input is restored before each run, the result is checked after.
[[nodiscard]] Measurement measure(Communicator& comm, Task& task, int iterations);

// The value below or at which a share `q` of the values lie. `sorted` must not be empty.
[[nodiscard]] double quantile(const std::vector<double>& sorted, double q);

}  // namespace bp::bench
