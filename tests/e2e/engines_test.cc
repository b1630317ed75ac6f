// Ranks that other launchers start. A test is skipped if its launcher is not
// installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "shell.h"
#include "tests/support/places.h"

namespace bp {
namespace {

using test::Ended;
using test::shell;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class Engine : public testing::TestWithParam<const char*> {
 protected:
  static Ended under(const std::string& settings, const std::string& program) {
    return shell(concat(settings, " ", kSourceDir, "/tests/e2e/under ", GetParam(), " 3 ", kBinDir,
                        "/", program));
  }
};

// docs/acceptance.md, Other engines: Ranks that the real engines start connect and reduce, on one
// machine and over hosts.
TEST_P(Engine, RanksConnectAndReduce) {
  const Ended ended = under("BP_LOG=info", "consumer");
  if (ended.code == 77) GTEST_SKIP() << ended.output;
  EXPECT_EQ(ended.code, 0) << ended.output;
  const bool two_nodes = GetParam() == std::string("slurm");
  EXPECT_THAT(ended.output, AllOf(HasSubstr("mean of 6 measurements on 3 ranks: 3.50"),
                                  HasSubstr(concat("started by the launcher ", GetParam(), " (")),
                                  HasSubstr(two_nodes ? "3 ranks on 2 hosts" : "on 1 hosts")));
}

TEST_P(Engine, WithEngineNoneEachRankRunsAlone) {
  const Ended ended = under("BP_ENGINE=none", "consumer");
  if (ended.code == 77) GTEST_SKIP() << ended.output;
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("mean of 1 measurements on 1 ranks: 1.00"));
}

// The exit code depends on the launcher, and so does the time that the other ranks have to report
// the failure: Hydra, MPICH's launcher, kills them at once. The job's store ends with rank 0.
// docs/acceptance.md, Other engines: Under an engine the other ranks report a dead rank.
TEST_P(Engine, TheOtherRanksReportTheDeadRank) {
  const std::map<std::string, int> codes{
      {"openmpi", 137}, {"mpich", 9}, {"torchrun", 1}, {"slurm", 137}};
  for (const int victim : {1, 0}) {
    const Ended ended = under("", concat("../tests/rank_program reduce ", victim));
    if (ended.code == 77) GTEST_SKIP() << ended.output;
    EXPECT_EQ(ended.code, codes.at(GetParam())) << ended.output;
    for (int rank = 0; rank < 3 && GetParam() != std::string("mpich"); ++rank) {
      if (rank != victim) {
        EXPECT_THAT(
            ended.output,
            ContainsRegex(concat(
                "rank ", rank, " (stopped|lost) [^\n]*",
                victim == 0
                    ? "(rank 0|the job's store|at the store [0-9.:]+: the connection is lost)"
                    : "rank 1")));
      }
    }
  }
}

// The shell of salloc is not a step of the job, so bprun places the ranks itself, on two nodes that
// are this machine.
TEST(Allocation, BprunTakesTheHostsOfSlurm) {
  const Ended ended = shell(concat(kSourceDir, "/tests/e2e/with_slurm salloc -N2 -n3 ", kBinDir,
                                   "/bprun ", kBinDir, "/consumer"));
  if (ended.code == 77) GTEST_SKIP() << ended.output;
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output,
              AllOf(HasSubstr("bprun: 2 hosts with 3 slots by SLURM_JOB_NODELIST=node[1-2]"),
                    HasSubstr("mean of 6 measurements on 3 ranks: 3.50")));
}

// The two components are of different sizes.
TEST(Allocation, BprunTakesAllComponentsOfAHeterogeneousJob) {
  const Ended ended = shell(concat(kSourceDir, "/tests/e2e/with_slurm salloc -N1 -n1 -w node1 : ",
                                   "-N1 -n2 -w node2 ", kBinDir, "/bprun ", kBinDir, "/consumer"));
  if (ended.code == 77) GTEST_SKIP() << ended.output;
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, AllOf(HasSubstr("bprun: 2 hosts with 3 slots by SLURM_HET_SIZE=2"),
                                  HasSubstr("mean of 6 measurements on 3 ranks: 3.50")));
}

INSTANTIATE_TEST_SUITE_P(Engines,
                         Engine,
                         testing::Values("openmpi", "mpich", "torchrun", "slurm"),
                         [](const auto& engine) { return std::string(engine.param); });

}  // namespace
}  // namespace bp
