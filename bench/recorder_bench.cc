// What the flight recorder, which is always on, adds to a collective: a copy of what is done, and a
// look at the clock at its end. (That at its beginning is made for the deadline.) Prints
// nanoseconds an operation, and how many of them the clock takes.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "comm/engine/flight_recorder.h"

namespace {

using Clock = bp::FlightRecorder::Clock;

constexpr int kOperations = 1'000'000;
constexpr int kRounds = 7;

template <class Action>
double nanoseconds_each(const Action& action) {
  std::array<double, kRounds> rounds = {};
  for (double& round : rounds) {
    const auto begin = Clock::now();
    for (int i = 0; i < kOperations; ++i) action(i);
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    round = took.count() / kOperations;
  }
  std::ranges::nth_element(rounds, rounds.begin() + kRounds / 2);
  return rounds[kRounds / 2];
}

}  // namespace

int main() {
  std::array<float, 4> data = {};
  bp::Operation operation;
  operation.kind = bp::Operation::Kind::all_reduce;
  operation.output =
      bp::View{reinterpret_cast<std::byte*>(data.data()), data.size(), bp::DataType::f32};
  operation.name = "gradients, bucket 17";
  bp::FlightRecorder recorder;
  Clock::time_point now = Clock::now();
  const double all = nanoseconds_each([&](int i) {
    recorder.begin(operation, static_cast<std::uint64_t>(i), now);
    now = Clock::now();
    recorder.end(true, {.algorithm = "direct"}, now);
  });
  const double clock = nanoseconds_each([&](int) { now = std::max(now, Clock::now()); });
  const bool counted = recorder.counters().operations == std::uint64_t{kOperations} * kRounds;
  if (!counted || now == Clock::time_point{}) return 70;  // used, so that they are computed
  std::printf("recorder: %.1f ns an operation, %.1f of them for the clock (target: 50 ns)\n", all,
              clock);
}
