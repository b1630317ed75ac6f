#include "launcher/failure/heartbeat_monitor.h"

#include <gtest/gtest.h>

namespace bp::launcher {
namespace {

using namespace std::chrono_literals;
using Event = StoreEvent::Kind;

constexpr const char* kRank = "rank 2 on h2 (local rank 0, pid 4711)";

HeartbeatMonitor::Time at(std::chrono::milliseconds time) {
  return HeartbeatMonitor::Time{} + time;
}

TEST(HeartbeatMonitor, OnlyWarnsByDefault) {
  HeartbeatMonitor monitor({}, 10s);
  EXPECT_EQ(monitor.limit(), 10s);
  EXPECT_EQ(monitor.store_event({Event::joined, 2, {}}, kRank, at(0s)), "");
  EXPECT_EQ(monitor.store_event({Event::silent, 2, {}}, kRank, at(50s)),
            "bprun: warning: rank 2 on h2 (local rank 0, pid 4711) has sent no heartbeat for 10.0 "
            "s: it is stopped, or its host hangs; --kill-silent would end the job");
  EXPECT_FALSE(monitor.too_long(at(24h)));
  EXPECT_EQ(monitor.note(2, "rank 2", at(51s)), "rank 2 sent no heartbeat for 11.0 s");
  EXPECT_EQ(monitor.note(1, "rank 1", at(51s)), "");
  EXPECT_EQ(monitor.store_event({Event::back, 2, {}}, "rank 2", at(60s)),
            "bprun: rank 2 sends heartbeats again");
  EXPECT_EQ(monitor.store_event({Event::back, 1, {}}, "rank 1", at(60s)), "");
  EXPECT_EQ(monitor.note(2, "rank 2", at(61s)), "");
}

TEST(HeartbeatMonitor, EndsTheJobWithKillSilent) {
  HeartbeatMonitor monitor(1500ms, 10s);
  EXPECT_EQ(monitor.limit(), 1500ms);
  EXPECT_EQ(monitor.store_event({Event::silent, 2, {}}, kRank, at(50s)), "");
  EXPECT_EQ(monitor.too_long(at(50s)), 2);
  const Failure failure = monitor.failure(2, "rank 2", at(50s));
  EXPECT_EQ(failure.exit_code, 70);
  EXPECT_EQ(failure.rank, 2);
  EXPECT_EQ(failure.headline, "rank 2 sent no heartbeat for 1.5 s (--kill-silent)");
  EXPECT_EQ(failure.hint, "something stopped it (a signal, a debugger), or its host hangs");
  monitor.rank_ended(2);
  EXPECT_FALSE(monitor.too_long(at(60s)));
}

TEST(HeartbeatMonitor, WarnsBeforeALongerKillSilent) {
  HeartbeatMonitor monitor(60s, 10s);
  EXPECT_EQ(monitor.limit(), 10s);
  EXPECT_EQ(monitor.store_event({Event::silent, 2, {}}, "rank 2", at(0s)),
            "bprun: warning: rank 2 has sent no heartbeat for 10.0 s: it is stopped, or its host "
            "hangs; after 00:01:00 the job ends (--kill-silent)");
  EXPECT_FALSE(monitor.too_long(at(49s)));
  monitor.job_resumed(at(40s));
  EXPECT_FALSE(monitor.too_long(at(89s)));
  EXPECT_EQ(monitor.too_long(at(90s)), 2);
}

}  // namespace
}  // namespace bp::launcher
