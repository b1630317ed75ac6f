// What the flight recorder, which is always on, adds to a collective: two looks at the clock and a
// copy of what is done, as the engine makes them. Prints nanoseconds an operation, and how much of
// them the clock took.
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
  const double all = nanoseconds_each([&](int i) {
    recorder.begin(operation, static_cast<std::uint64_t>(i), Clock::now());
    recorder.end(true, {.algorithm = "direct"}, Clock::now());
  });
  Clock::duration ticks{0};  // read, so that the clock is
  const double clock = nanoseconds_each([&](int) {
    const auto begin = Clock::now();
    ticks += Clock::now() - begin;
  });
  const bool counted = recorder.counters().operations == std::uint64_t{kOperations} * kRounds;
  if (!counted || ticks.count() == 0) return 70;
  std::printf("recorder: %.1f ns an operation, %.1f of them for the clock (target: 50 ns)\n", all,
              clock);
}
