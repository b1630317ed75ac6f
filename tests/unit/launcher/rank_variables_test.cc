// The environment of ranks: what bprun sets, what it sends to other hosts, and what it keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/options/variable_rows.h"
#include "launcher/hosts/placement.h"
#include "launcher/plan/rank_environment.h"
#include "launcher/process/environment_list.h"

namespace bp::launcher {
namespace {

using testing::ElementsAre;

// docs/acceptance.md, Launcher: The variables of ranks follow docs/environment.md.
TEST(RankVariables, FollowTheContract) {
  const auto placement = place_ranks(parse_host_list("a:3,b:1:weight=0.5"), std::nullopt);
  const JobVariables job{{"10.0.0.1", 99}, "10.0.0.2", 88, 2};
  EXPECT_THAT(
      rank_variables(placement, 2, job),
      ElementsAre("RANK=2", "WORLD_SIZE=4", "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=3", "GROUP_RANK=0",
                  "GROUP_WORLD_SIZE=2", "MASTER_ADDR=10.0.0.2", "MASTER_PORT=88", "BP_GENERATION=2",
                  "BP_STORE=10.0.0.1:99", "BP_HOST_RANK=0", "BP_LOCAL_SIZES=3,1",
                  "BP_HOST_NAMES=a,b", "BP_HOST_WEIGHTS=1,0.5"));
  const auto last = rank_variables(placement, 3, job);
  EXPECT_EQ(last[2], "LOCAL_RANK=0");
  EXPECT_EQ(last[3], "LOCAL_WORLD_SIZE=1");
  EXPECT_EQ(last[4], "GROUP_RANK=1");
}

TEST(RankVariables, HaveRowsSoThatUsersCannotSetThem) {
  const auto placement = place_ranks(parse_host_list("a:1"), std::nullopt);
  for (const std::string& entry : rank_variables(placement, 0, {})) {
    EXPECT_EQ(std::ranges::count(variables_of_ranks(), name_of_entry(entry)), 1) << entry;
  }
}

// docs/features.md, Launching: The number of threads of a rank | bprun sets `OMP_NUM_THREADS`
// within CPU quotas and without hyperthreads. Threads sleep sooner on a machine that others use.
TEST(RankVariables, ThreadsAreCountedPerMachine) {
  EXPECT_THAT(threads_per_rank({{"m", 8, 2}, {"m", 8, 1}, {"other", 16, 4}, {"small", 1, 3}}),
              ElementsAre(2, 2, 4, 1));
}

TEST(RankVariables, OnlySomeAreSentByDefault) {
  for (const char* name : {"PATH", "LC_ALL", "OMP_NUM_THREADS", "NCCL_DEBUG", "BP_LOG"}) {
    EXPECT_TRUE(travels(name)) << name;
  }
  for (const char* name :
       {"HOME", "CUDA_VISIBLE_DEVICES", "SSH_AUTH_SOCK", "AWS_SECRET_KEY", "DISPLAY"}) {
    EXPECT_FALSE(travels(name)) << name;
  }
  EXPECT_THAT(requested_variables({"A", "B=x=y", "NOT_SET", "EMPTY"}, {"A=1", "B=2", "EMPTY="}),
              ElementsAre("A=1", "B=x=y", "EMPTY="));
}

// BP_ENGINE says how bprun itself was started. A rank that read it would run alone or refuse to
// start.
// docs/acceptance.md, Launcher: BP_ENGINE of bprun's own environment reaches the ranks only on
// request.
TEST(RankVariables, TheEngineOfBprunIsSentOnlyOnRequest) {
  const std::vector<std::string> own = {"BP_ENGINE=none", "BP_ENGINES=2", "BP_LOG=debug"};
  for (const bool whole : {false, true}) {
    EXPECT_THAT(sent_environment(own, {.whole = whole}, {}),
                ElementsAre("BP_ENGINES=2", "BP_LOG=debug"));
    EXPECT_THAT(sent_environment(own, {.whole = whole}, {"BP_ENGINE"}),
                ElementsAre("BP_ENGINES=2", "BP_LOG=debug", "BP_ENGINE=none"));
  }
}

TEST(EnvironmentList, ReplacesInPlace) {
  EXPECT_THAT(merged_environment({"A=1", "B=2", "AB=3"}, {"A=x", "C=4"}),
              ElementsAre("A=x", "B=2", "AB=3", "C=4"));
  EXPECT_EQ(find_environment({"AB=3", "A=1"}, "A"), "1");
  EXPECT_FALSE(find_environment({"AB=3"}, "A"));
}

}  // namespace
}  // namespace bp::launcher
