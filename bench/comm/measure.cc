#include "bench/comm/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"

namespace bp::bench {
namespace {

constexpr int kWarmUps = 3;
constexpr int kFewest = 5;
constexpr int kBatch = 5;  // most timed runs between two calls of restore()

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double seconds_of_run(Communicator& comm, const Task& task) {
  barrier(comm);
  const auto begin = Clock::now();
  task.run();
  return seconds_since(begin);
}

// Appends the times of at most `runs` runs. Returns the number of wrong elements in their result.
std::int64_t run_batch(
    Communicator& comm, Task& task, bool touch, int runs, std::vector<double>& seconds) {
  task.restore();
  if (!touch) task.run();
  const int timed = touch ? 1 : std::min({runs, kBatch, task.repeatable});
  for (int i = 0; i < timed; ++i) seconds.push_back(seconds_of_run(comm, task));
  barrier(comm);  // else this rank's check could delay a rank on the same core within its run
  return task.wrong_elements(touch ? timed : timed + 1);
}

// Returns whether the time of some rank is over, the same on all ranks.
bool out_of_time(Communicator& comm, const Pace& pace, std::size_t runs, Clock::time_point begin) {
  if (pace.seconds == 0 || runs < kFewest) return false;
  std::vector<double> spent = {seconds_since(begin)};
  all_reduce(comm, view(spent), {.op = ReduceOp::max, .name = "comm_bench time spent"});
  return spent[0] >= pace.seconds;
}

}  // namespace

Measurement measure(Communicator& comm, Task& task, const Pace& pace) {
  if (!pace.touch && task.repeatable < 1) {
    throw Error(ErrorCode::invalid_argument,
                concat("sums of sums over ", comm.size(), " ranks are not exact in ",
                       name_of(task.type), ", so they cannot be checked; give --touch"));
  }
  std::vector<double> seconds;
  std::vector<std::int64_t> wrong = {0};
  const auto run_until = [&](std::size_t runs, Clock::time_point begin) {
    while (seconds.size() < runs && !out_of_time(comm, pace, seconds.size(), begin)) {
      const auto left = static_cast<int>(runs - seconds.size());
      wrong[0] += run_batch(comm, task, pace.touch, left, seconds);
    }
  };
  run_until(kWarmUps, Clock::now());
  seconds.clear();
  run_until(static_cast<std::size_t>(pace.iterations), Clock::now());
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
