#include "launcher/failure/rank_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "launcher/hosts/host_entry.h"

namespace bp::launcher {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int exited(int code) { return code << 8; }

struct RankStatesTest : testing::Test {
  std::vector<PlacedHost> placement = place_ranks(parse_host_list("a:2,b:1"), std::nullopt);
  RankStates ranks{placement};
};

TEST_F(RankStatesTest, CountsRunningRanks) {
  EXPECT_EQ(ranks.size(), 3);
  EXPECT_EQ(ranks.running(), 3);
  EXPECT_FALSE(ranks.any_ended_well());
  ranks[1].status = exited(7);
  EXPECT_EQ(ranks.running(), 2);
  EXPECT_FALSE(ranks.any_ended_well());
  ranks[2].status = 0;
  EXPECT_TRUE(ranks.any_ended_well());
}

TEST_F(RankStatesTest, TakesTheWorstCodeUnlessARankHasSaved) {
  EXPECT_EQ(ranks.exit_code(), 0) << "a running rank has no exit code";
  ranks[0].status = exited(3);
  ranks[1].status = SIGTERM;
  ranks[2].status = 0;
  EXPECT_EQ(ranks.exit_code(), 128 + SIGTERM);
  ranks[2].status = exited(75);
  EXPECT_EQ(ranks.exit_code(), 75);
}

TEST_F(RankStatesTest, NamesRanksThatFailedWhenAskedToStop) {
  ranks[0].status = exited(75);
  ranks[1].status = SIGTERM;
  EXPECT_THAT(ranks.bad_ends(), IsEmpty());
  ranks[1].status = SIGSEGV;
  ranks[1].pid = 42;
  ranks[2].status = exited(1);
  ranks[2].pid = 43;
  EXPECT_THAT(ranks.bad_ends(),
              ElementsAre("rank 1 on a (local rank 1, pid 42) was killed by signal 11 (SIGSEGV)",
                          "rank 2 on b (local rank 0, pid 43) exited with code 1"));
}

}  // namespace
}  // namespace bp::launcher
