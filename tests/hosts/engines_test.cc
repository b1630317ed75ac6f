// Other launchers, and bprun inside a job of Slurm, on hosts that each have a name,
// an address and a daemon: sshd for Open MPI, MPICH and torchrun, slurmd for Slurm. HostsTest
// checks that no process is left. `scripts/acceptance engines` runs the main job under each of
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstddef>
#include <fstream>
#include <string>

#include "base/text.h"
#include "tests/e2e/shell.h"
#include "tests/hosts/hosts.h"
#include "tests/support/places.h"

namespace bp::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const std::string kBprun = kBinDir + "/bprun";
const std::string kConsumer = kBinDir + "/consumer";

class ProgramOnHosts : public HostsTest {
 protected:
  // Runs `command` on head with these variables. `command` must not contain single quotes.
  [[nodiscard]] Ended on_head(const std::string& variables, const std::string& command) const {
    std::string line = concat("BP_HOSTS=", hosts().folder(), " ", variables);
    for (const std::string& word : hosts().on("head")) line += concat(" ", word);
    return shell(concat(line, " ", kSourceDir, "/tests/e2e/", command));
  }
};

class EngineOnHosts : public ProgramOnHosts, public testing::WithParamInterface<std::string> {
 protected:
  [[nodiscard]] Ended under(const std::string& variables, const std::string& program) const {
    return on_head(variables, concat("under ", GetParam(), " a:2,b:1 ", program));
  }
};

// docs/acceptance.md, Other engines: Ranks that the real engines start connect and reduce, on one
// machine and over hosts.
TEST_P(EngineOnHosts, RanksConnectAndReduce) {
  const Ended ended = under("BP_LOG=info", kConsumer);
  if (ended.code == 77) GTEST_SKIP() << ended.output;
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("mean of 6 measurements on 3 ranks: 3.50"));
  EXPECT_THAT(ended.output, HasSubstr(concat("started by the launcher ", GetParam(), " (")));
  EXPECT_THAT(ended.output, HasSubstr("): 3 ranks on 2 hosts"));
}

// Without torchrun, which would restart the job; e2e_recipes tests that.
class FailureUnderEngine : public EngineOnHosts {};

// Hydra, MPICH's launcher, kills the others before they can report anything, and its exit code
// varies.
// docs/acceptance.md, Other engines: Under an engine the other ranks report a dead rank.
TEST_P(FailureUnderEngine, TheOtherRanksReportTheDeadRank) {
  const Ended ended = under("", concat(rank_program(), " reduce 1"));
  if (ended.code == 77) GTEST_SKIP() << ended.output;
  if (GetParam() == "mpich") {
    EXPECT_NE(ended.code, 0);
    return;
  }
  EXPECT_EQ(ended.code, 137) << ended.output;
  for (const int rank : {0, 2}) {
    // Whatever a rank notices first, it names the dead rank as the cause. On the host of the dead
    // rank, the shared-memory segment may show the death before the store does; on the other host,
    // the connection of a rank that has stopped already may end before the store tells why.
    EXPECT_THAT(ended.output, ContainsRegex(concat("rank ", rank,
                                                   " (stopped|lost rank [01]) .*: rank 1 lost: ")));
  }
}

INSTANTIATE_TEST_SUITE_P(Engines,
                         EngineOnHosts,
                         testing::Values("openmpi", "mpich", "torchrun", "slurm"),
                         [](const auto& engine) { return engine.param; });
INSTANTIATE_TEST_SUITE_P(Engines,
                         FailureUnderEngine,
                         testing::Values("openmpi", "mpich", "slurm"),
                         [](const auto& engine) { return engine.param; });

// bprun in jobs of a Slurm whose nodes are the hosts a with three processors and b with one.
class SlurmOnHosts : public ProgramOnHosts {
 protected:
  [[nodiscard]] Ended with_slurm(const std::string& command) const {
    return on_head("", concat("with_slurm --on a:3,b:1 ", command));
  }
};

// docs/acceptance.md, Other engines: In a batch job bprun takes the hosts of the allocation.
TEST_F(SlurmOnHosts, BprunTakesTheNodesOfABatchJob) {
  const std::string output = hosts().folder() + "/job";
  const Ended ended = with_slurm(concat("sbatch --wait -N2 -n4 -o ", output, " --wrap \"hostname; ",
                                        kBprun, " ", kConsumer, "\""));
  if (ended.code == 77) GTEST_SKIP() << ended.output;
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(read(output),
              AllOf(HasSubstr("a\nbprun: 2 hosts with 4 slots by SLURM_JOB_NODELIST=a,b\n"),
                    HasSubstr("mean of 10 measurements on 4 ranks: 5.50")));
}

// Both hosts hold a trial of each size, so none waits for the end of all others.
// docs/features.md, Searches: Trials placed on hosts and GPUs | the slots of `-H`, a hostfile or a
// batch job; `gpus=` of a host
TEST_F(SlurmOnHosts, ASweepFillsTheSlotsOfABatchJob) {
  const std::string work = hosts().folder() + "/sweep";
  std::ofstream(work + ".yaml") << "blocks:\n"
                                   "  - {slots: 3, parameters: {i: [1, 2]}}\n"
                                   "  - {slots: 1, parameters: {i: [3, 4]}}\n";
  std::ofstream(work + ".sh") << "echo $BP_HOST_NAMES $WORLD_SIZE >>" << work
                              << ".ranks; sleep 1\n";
  const Ended ended = with_slurm(concat("salloc -Q -N2 -n4 ", kBprun, " sweep ", work,
                                        ".yaml --folder ", work, " -- sh ", work, ".sh"));
  if (ended.code == 77) GTEST_SKIP() << ended.output;
  EXPECT_EQ(ended.code, 0) << ended.output;
  const std::string ranks = read(work + ".ranks");
  EXPECT_THAT(ranks, HasSubstr("a 3\n"));
  EXPECT_THAT(ranks, HasSubstr("b 1\n"));
}

// Slurm forwards what bprun writes to srun as plain text.
TEST_F(SlurmOnHosts, TheNetworkDoesNotShowTheJobsKeyNorItsVariables) {
  const std::string work = hosts().folder() + "/capture";
  const Ended ended = with_slurm(
      concat("salloc -Q -N2 -n4 ", kSourceDir, "/tests/hosts/capture ", work, " ", kBprun,
             " --env TOKEN=visiblesecret987 sh -c \"cat /proc/self/fd/\\$BP_KEY_FD >", work,
             ".key; echo \\$TOKEN | wc -c; echo seen by all\""));
  if (ended.code == 77) GTEST_SKIP() << ended.output;
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("] 17\n")) << "the ranks must have the variable";
  const std::string key = read(work + ".key");
  ASSERT_EQ(key.size(), 32U);
  const std::string captured = read(work);
  EXPECT_NE(captured.find("seen by all"), std::string::npos) << "the capture must work";
  EXPECT_EQ(captured.find("visiblesecret987"), std::string::npos);
  EXPECT_EQ(captured.find(key), std::string::npos);
  EXPECT_NE(captured.find("MUNGE:"), std::string::npos) << "munge must vouch for both ends";
}

TEST_F(SlurmOnHosts, BprunNamesTheFailedRankAndLeavesNoProcessInTheAllocation) {
  const Ended ended = with_slurm(
      concat("salloc -Q -N2 -n4 sh -c \"", kBprun, " ", rank_program(), " signal 3 ", SIGKILL,
             "; echo ended with \\$?; ssh a ps -eo comm=; ssh b ps -eo comm=\""));
  if (ended.code == 77) GTEST_SKIP() << ended.output;
  EXPECT_THAT(ended.output,
              ContainsRegex("bprun: FAILED  rank 3 on b \\(local rank 0, pid [0-9]+\\) "
                            "was killed by signal 9 \\(SIGKILL\\)"));
  EXPECT_THAT(ended.output, HasSubstr("; ranks 0-2 were stopped by bprun (SIGTERM, "));
  const std::size_t end = ended.output.find("ended with 137\n");
  ASSERT_NE(end, std::string::npos) << ended.output;
  const std::string left = ended.output.substr(end);
  EXPECT_THAT(left, ContainsRegex("slurmd\n(.*\n)*.*slurmd\n")) << "one slurmd on each host";
  EXPECT_THAT(left, Not(AnyOf(HasSubstr("bprun"), HasSubstr("rank_program"))))
      << "left when bprun has ended";
}

}  // namespace
}  // namespace bp::test
