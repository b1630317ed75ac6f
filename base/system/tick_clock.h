// The time that operations take which take less than a microsecond. Reads the processor's counter,
// in a third of the time that steady_clock needs for it, if the counter runs at a constant rate.
// Elsewhere a tick is one of steady_clock.
//
// Threads: any. Ticks mean something only within one process.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace bp {

class TickClock {
 public:
  using Ticks = std::uint64_t;
  using Duration = std::chrono::steady_clock::duration;

  [[nodiscard]] static Ticks now() { return start().has_counter ? counter() : steady_ticks(); }
  // Returns the time between two readings, or 0 if `end` is before `begin`, as it may be if the
  // thread was moved to another core.
  [[nodiscard]] static Duration between(Ticks begin, Ticks end) {
    return Duration(static_cast<Duration::rep>(static_cast<double>(end > begin ? end - begin : 0) *
                                               steady_per_tick()));
  }

 private:
  // The first reading of both clocks.
  struct Start {
    Start();
    const bool has_counter;  // one that runs at a constant rate
    const std::chrono::steady_clock::time_point steady = std::chrono::steady_clock::now();
    const Ticks ticks = counter();
  };
  static const Start& start() {
    static const Start kStart;
    return kStart;
  }
  static Ticks counter() {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return 0;
#endif
  }
  static Ticks steady_ticks() {
    return static_cast<Ticks>(std::chrono::steady_clock::now().time_since_epoch().count());
  }
  // How many ticks of steady_clock one tick takes, as measured since the first reading.
  static double steady_per_tick();
};

}  // namespace bp
