#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>

#include "comm/transport/gloo_plugin/waits.h"

namespace bp::gloo_plugin {
namespace {

using namespace std::chrono_literals;

// A job can fail between the check of its stop flag and the wait. No further wake() follows then.
TEST(GlooWaits, WaitThatBeginsAfterTheStopEndsToo) {
  std::promise<void> stopped;
  Waits waits([&] { stopped.set_value(); });
  const std::atomic<bool> stop = true;
  waits.run([&] { EXPECT_EQ(stopped.get_future().wait_for(20s), std::future_status::ready); },
            stop);
}

TEST(GlooWaits, WaitInProgressEndsAtTheStop) {
  std::promise<void> stopped;
  Waits waits([&] { stopped.set_value(); });
  std::atomic<bool> stop = false;
  waits.run(
      [&] {
        auto until = stopped.get_future();
        EXPECT_EQ(until.wait_for(1ms), std::future_status::timeout);
        stop = true;
        waits.wake();
        EXPECT_EQ(until.wait_for(20s), std::future_status::ready);
      },
      stop);
}

}  // namespace
}  // namespace bp::gloo_plugin
