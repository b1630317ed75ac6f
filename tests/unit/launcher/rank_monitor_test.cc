// RankMonitor decides which failure of a rank ends a job, from root causes, heartbeats, and ranks
// that never join.
#include "launcher/failure/rank_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/hosts/host_entry.h"
#include "launcher/hosts/placement.h"

namespace bp::launcher {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using Event = StoreEvent::Kind;

class RankMonitorTest : public testing::Test {
 protected:
  static RankMonitor::Time at(std::chrono::milliseconds time) { return RankMonitor::Time(time); }
  void join(int rank, std::chrono::milliseconds time) {
    EXPECT_EQ(monitor_.store_event({Event::joined, rank, {}}, at(time)), "");
  }

  Options options_;
  std::vector<PlacedHost> placement_ = place_ranks(parse_host_list("a:2,b:1"), std::nullopt);
  RankMonitor monitor_{placement_, options_};
};

TEST_F(RankMonitorTest, ARankThatEndsWithACodeFailsTheJob) {
  monitor_.rank_ended({.rank = 2, .status = 7 << 8, .cause = ""}, at(1s));
  ASSERT_TRUE(monitor_.decides_at());
  const auto failure = monitor_.failure(*monitor_.decides_at());
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 2);
  EXPECT_EQ(failure->exit_code, 7);
  EXPECT_EQ(failure->headline, "rank 2 on b (local rank 0) exited with code 7");
  EXPECT_EQ(monitor_.loss_line(2), "") << "the job stops, so no line says that the others continue";
}

TEST_F(RankMonitorTest, WithSurvivorsTheJobFailsOnlyWhenNoRankIsLeft) {
  options_.survivors_continue = true;
  monitor_.rank_ended({.rank = 0, .status = 9, .cause = ""}, at(1s));
  EXPECT_FALSE(monitor_.failure(at(10s)));
  EXPECT_THAT(monitor_.loss_line(0),
              HasSubstr("rank 0 on a (local rank 0) was killed by signal 9"));
  EXPECT_THAT(monitor_.loss_line(0), HasSubstr("the others may continue"));
  monitor_.rank_ended({.rank = 1, .status = 9, .cause = ""}, at(11s));
  monitor_.rank_ended({.rank = 2, .status = 9, .cause = ""}, at(12s));
  ASSERT_TRUE(monitor_.failure(at(20s)));
  EXPECT_EQ(monitor_.failure(at(20s))->rank, 0);
}

TEST_F(RankMonitorTest, NamesAllRanksThatNeverJoined) {
  options_.start_timeout = 30s;
  join(1, 1s);
  EXPECT_FALSE(monitor_.failure(at(30s)));
  const auto failure = monitor_.failure(at(31s));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 0);
  EXPECT_THAT(failure->headline, HasSubstr("has not joined the job within 30.0 s"));
  EXPECT_THAT(failure->more, ElementsAre("rank 2 on b (local rank 0) has not joined either"));
}

TEST_F(RankMonitorTest, ASuspensionOfTheJobIsNoSilence) {
  options_.kill_silent = 5s;
  RankMonitor monitor(placement_, options_);
  EXPECT_EQ(monitor.silence_limit(), 5s);
  EXPECT_EQ(monitor.store_event({Event::silent, 1, {}}, at(10s)), "");
  monitor.job_resumed(100s, at(110s));
  EXPECT_THAT(monitor.silent_lines(-1, at(110s)),
              ElementsAre("rank 1 on a (local rank 1) sent no heartbeat for 5.0 s"));
  EXPECT_THAT(monitor.silent_lines(1, at(110s)), ElementsAre());
  ASSERT_TRUE(monitor.failure(at(110s)));
  EXPECT_EQ(monitor.failure(at(110s))->rank, 1);
}

}  // namespace
}  // namespace bp::launcher
