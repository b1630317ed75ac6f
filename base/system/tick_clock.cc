#include "base/system/tick_clock.h"

#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace bp {
namespace {

// "Invariant TSC" (Intel SDM 3B, 18.17; AMD64 APM 3, CPUID Fn8000_0007_EDX): the counter runs at
// one rate in all states of the processor.
bool has_counter_of_constant_rate() {
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

}  // namespace

TickClock::Start::Start() : has_counter(has_counter_of_constant_rate()) {}

double TickClock::steady_per_tick() {
  const Start& first = start();
  if (!first.has_counter) return 1;
  // After so long, the time between a reading of one clock and of the other does not matter.
  constexpr std::chrono::milliseconds kLongEnough{1};
  while (std::chrono::steady_clock::now() < first.steady + kLongEnough) std::this_thread::yield();
  const auto steady = std::chrono::steady_clock::now() - first.steady;
  return static_cast<double>(steady.count()) / static_cast<double>(counter() - first.ticks);
}

}  // namespace bp
