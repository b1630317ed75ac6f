#include "base/system/tick_clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace bp {
namespace {

using namespace std::chrono_literals;

TEST(TickClock, MeasuresAsSteadyClockDoes) {
  const auto outer_begin = std::chrono::steady_clock::now();
  const TickClock::Ticks begin = TickClock::now();
  const auto inner_begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(20ms);
  const auto inner_end = std::chrono::steady_clock::now();
  const TickClock::Ticks end = TickClock::now();
  const auto outer_end = std::chrono::steady_clock::now();
  EXPECT_GE(TickClock::between(begin, end), (inner_end - inner_begin) * 99 / 100);
  EXPECT_LE(TickClock::between(begin, end), (outer_end - outer_begin) * 101 / 100);
}

TEST(TickClock, TakesNoTimeBackwards) { EXPECT_EQ(TickClock::between(2'000'000, 1'000'000), 0ns); }

}  // namespace
}  // namespace bp
