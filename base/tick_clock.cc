#include "base/tick_clock.h"

#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace bp {
namespace {

// "Invariant TSC" (Intel SDM 3B, 18.17; AMD64 APM 3, CPUID Fn8000_0007_EDX): the counter runs at
// one rate in all states of the processor.
bool counter_has_constant_rate() {
#if defined(__x86_64__)
  constexpr unsigned kPowerManagement = 0x8000'0007;
  constexpr unsigned kInvariant = 1U << 8;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(kPowerManagement, &eax, &ebx, &ecx, &edx) != 0 && (edx & kInvariant) != 0;
#else
  return false;
#endif
}

struct Moment {
  std::chrono::steady_clock::time_point steady = std::chrono::steady_clock::now();
  TickClock::Ticks ticks = TickClock::now();
};

}  // namespace

const bool TickClock::kConstantRate = counter_has_constant_rate();
namespace {
const Moment kStart;  // after the above, which it uses
}

double TickClock::ticks_per_tick() {
  if (!kConstantRate) return 1;
  // After so long, the time between the two readings of a moment does not matter.
  constexpr std::chrono::milliseconds kLongEnough{1};
  while (std::chrono::steady_clock::now() < kStart.steady + kLongEnough) std::this_thread::yield();
  const Moment now;
  return static_cast<double>((now.steady - kStart.steady).count()) /
         static_cast<double>(now.ticks - kStart.ticks);
}

}  // namespace bp
