#include "bench/comm/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bp/collective.h"

namespace bp::bench {
namespace {

constexpr int kWarmUps = 3;

double seconds_of_run(Communicator& comm, const Task& task) {
  barrier(comm);
  const auto begin = std::chrono::steady_clock::now();
  task.run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Measurement measure(Communicator& comm, Task& task, int iterations) {
  std::vector<double> seconds;
  std::vector<std::int64_t> wrong = {0};
  for (int i = -kWarmUps; i < iterations; ++i) {
    task.restore();
    const double taken = seconds_of_run(comm, task);
    wrong[0] += static_cast<std::int64_t>(task.wrong_elements());
    if (i >= 0) seconds.push_back(taken);
  }
  all_reduce(comm, view(seconds), {.op = ReduceOp::max, .name = "comm_bench times"});
  all_reduce(comm, view(wrong), {.op = ReduceOp::sum, .name = "comm_bench wrong"});
  std::ranges::sort(seconds);
  return {quantile(seconds, 0.5) * 1e6, quantile(seconds, 0.99) * 1e6, wrong[0]};
}

double quantile(const std::vector<double>& sorted, double q) {
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace bp::bench
