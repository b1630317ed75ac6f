// Measures what the flight recorder, which is always on, adds to a collective: it copies the
// operation's fields, and reads the clock at the end. (The clock at the beginning is read for the
// deadline anyway.) Prints the nanoseconds per operation, and how many of them the clock takes.
#include <algorithm>
#include <array>
#include <cstdio>

#include "bench/repeat.h"
#include "comm/engine/observe/flight_recorder.h"

int main() {
  using Clock = bp::TickClock;
  std::array<float, 4> data = {};
  bp::Operation operation;
  operation.kind = bp::Operation::Kind::all_reduce;
  operation.output =
      bp::View{reinterpret_cast<std::byte*>(data.data()), data.size(), bp::DataType::f32};
  operation.name = "gradients, bucket 17";
  bp::FlightRecorder recorder;
  Clock::Ticks now = Clock::now();
  const double all = bp::bench::nanoseconds_a_call([&](int i) {
    const auto ticket = recorder.begin(operation, static_cast<std::uint64_t>(i), now);
    now = Clock::now();
    recorder.end(ticket, true, {.algorithm = "direct"}, now);
  });
  const double clock =
      bp::bench::nanoseconds_a_call([&](int) { now = std::max(now, Clock::now()); });
  const bool counted =
      recorder.counters().operations == std::uint64_t{bp::bench::kCallsARound} * bp::bench::kRounds;
  // Uses the results, so that the compiler does not remove the computation.
  if (!counted || now == 0) return 70;
  std::printf("recorder: %.1f ns an operation, %.1f of them for the clock (target: 50 ns)\n", all,
              clock);
}
