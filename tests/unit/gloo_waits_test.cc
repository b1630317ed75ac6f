#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>

#include "comm/transport/gloo_plugin/waits.h"

namespace bp::gloo_plugin {
namespace {

using namespace std::chrono_literals;

// A job may fail between the look at its stop flag and the wait: nobody rings for it again.
TEST(GlooWaits, WhatBeginsAfterTheStopIsGivenUpToo) {
  std::promise<void> given_up;
  Waits waits([&] { given_up.set_value(); });
  const std::atomic<bool> stop = true;
  waits.run([&] { EXPECT_EQ(given_up.get_future().wait_for(20s), std::future_status::ready); },
            stop);
}

TEST(GlooWaits, WhatIsUnderWayIsGivenUpAtTheStop) {
  std::promise<void> given_up;
  Waits waits([&] { given_up.set_value(); });
  std::atomic<bool> stop = false;
  waits.run(
      [&] {
        auto until = given_up.get_future();
        EXPECT_EQ(until.wait_for(1ms), std::future_status::timeout);
        stop = true;
        waits.wake();
        EXPECT_EQ(until.wait_for(20s), std::future_status::ready);
      },
      stop);
}

}  // namespace
}  // namespace bp::gloo_plugin
