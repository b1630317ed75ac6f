// However bprun ends, no process of the job is left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "base/text.h"
#include "tests/e2e/launcher/bprun_process.h"
#include "tests/support/scratch.h"

namespace bp::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// Waits until both ranks have started their descendants: 2 x 4 processes besides bprun and its
// agents.
void wait_for_families(BprunProcess& bprun) {
  ASSERT_TRUE(bprun.wait_for("[0] ready\n"));
  ASSERT_TRUE(bprun.wait_for("[1] ready\n"));
  ASSERT_GE(bprun.marked(), 8);
}

// docs/acceptance.md, Failures: Ctrl-C kills ranks that ignore it after `--grace`.
TEST(Stop, CtrlCKillsRanksThatIgnoreIt) {
  BprunProcess bprun(
      {{"-H", "localhost:1,127.0.0.1:1", "--grace", "100ms", rank_program(), "family"}});
  wait_for_families(bprun);
  bprun.signal(SIGINT);
  EXPECT_EQ(bprun.finish(), 130);
  EXPECT_EQ(bprun.marked(), 0) << "no process may be left when bprun has ended";
  EXPECT_THAT(bprun.err(),
              HasSubstr("bprun: SIGINT: stopping 2 ranks, at most 0.1 s (press Ctrl-C again to "
                        "kill)\nbprun: ranks 0,1 still run after 0.1 s (--grace): killing them\n"));
}

// docs/acceptance.md, Failures: A second Ctrl-C kills at once.
TEST(Stop, ASecondCtrlCKillsAtOnce) {
  BprunProcess bprun({{"-n", "2", "--grace", "1h", rank_program(), "family"}});
  wait_for_families(bprun);
  bprun.signal(SIGINT);
  ASSERT_TRUE(bprun.wait_for("stopping 2 ranks"));
  bprun.signal(SIGINT);
  EXPECT_EQ(bprun.finish(), 130);
  EXPECT_EQ(bprun.marked(), 0);
  EXPECT_THAT(bprun.err(), HasSubstr("\nbprun: SIGINT again: killing ranks 0,1\n"));
}

// docs/acceptance.md, Failures: A killed bprun leaves no process on any host.
// docs/features.md, Launching: No process is left over | always. bprun signals only processes that
// it has started.
TEST(Stop, SigkillOfBprunLeavesNoProcess) {
  BprunProcess bprun({{"-H", "localhost:1,127.0.0.1:1", rank_program(), "family"}});
  wait_for_families(bprun);
  bprun.signal(SIGKILL);
  EXPECT_EQ(bprun.marked_at_last(), 0);
  EXPECT_EQ(bprun.finish(), 128 + SIGKILL);
}

TEST(Stop, LeftoverProcessesOfASuccessfulRunAreStopped) {
  BprunProcess bprun({{"-n", "2", "sh", "-c", "setsid sleep 1000 & sleep 1000 & exit 0"}});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_EQ(bprun.marked(), 0);
}

TEST(Stop, SimpleProgramsEndAtTheSignal) {
  BprunProcess bprun({{"-n", "2", rank_program(), "pause"}});
  ASSERT_TRUE(bprun.wait_for("[1] ready\n"));
  ASSERT_TRUE(bprun.wait_for("[0] ready\n"));
  bprun.signal(SIGTERM);
  EXPECT_EQ(bprun.finish(), 128 + SIGTERM);
  EXPECT_THAT(bprun.err(), HasSubstr("bprun: SIGTERM: stopping 2 ranks, at most 30.0 s\n"));
}

// docs/acceptance.md, Failures: A batch system's warning lets ranks save, and the job ends with 75.
TEST(Stop, RanksThatSaveEndTheJobWith75) {
  for (const auto& [number, code] :
       {std::pair{SIGTERM, 75}, std::pair{SIGHUP, 75}, std::pair{SIGINT, 130}}) {
    BprunProcess bprun({{"-n", "2", rank_program(), "join", "save"}});
    ASSERT_TRUE(bprun.wait_for("[0] joined\n"));
    ASSERT_TRUE(bprun.wait_for("[1] joined\n"));
    bprun.signal(number);
    EXPECT_EQ(bprun.finish(), code);
    EXPECT_THAT(bprun.out(), HasSubstr("[0] saved\n"));
    EXPECT_THAT(bprun.out(), HasSubstr("[1] saved\n"));
  }
}

// The job is stopped for 2 s and then runs for 2 s; a rank may be silent for 1 s.
// How the rank ended is not known, so the job must not look as if it had succeeded.
TEST(Stop, AHostThatIsLostDuringAStopDoesNotEndTheJobWith0) {
  const Scratch scratch;
  const std::string ssh = concat("sh -c 'echo $$ >", scratch.path("agent"),
                                 "; for word; do :; done; eval \"exec $word\"' ssh");
  BprunProcess bprun({{"-H", "far:1", "--ssh", ssh, "sh", "-c",
                       "trap 'echo asked' TERM; echo ready; while :; do sleep 0.02; done"}});
  ASSERT_TRUE(bprun.wait_for("ready\n"));
  bprun.signal(SIGTERM);
  ASSERT_TRUE(bprun.wait_for("asked\n"));
  ::kill(std::stoi(read_file(scratch.path("agent"))), SIGKILL);
  EXPECT_EQ(bprun.finish(), 75) << bprun.err();
  EXPECT_EQ(bprun.marked_at_last(), 0);
}

// docs/acceptance.md, Failures: Ctrl-Z suspends all ranks, and none counts as silent afterwards.
TEST(Stop, CtrlZSuspendsAllAndNoRankCountsAsSilentAfterwards) {
  BprunProcess bprun({{"-n", "2", "--kill-silent=1s", rank_program(), "join", "save"}});
  ASSERT_TRUE(bprun.wait_for("[0] joined\n"));
  ASSERT_TRUE(bprun.wait_for("[1] joined\n"));
  bprun.signal(SIGTSTP);
  ASSERT_TRUE(bprun.wait_until_stopped(3)) << "bprun and both ranks must stop, but not the agent";
  ::sleep(2);
  bprun.signal(SIGCONT);
  ASSERT_TRUE(bprun.wait_until_stopped(0));
  ::sleep(2);
  bprun.signal(SIGTERM);
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_THAT(bprun.err(), Not(HasSubstr("heartbeat")));
  EXPECT_THAT(bprun.out(), HasSubstr("[0] saved\n"));
}

// The job is stopped for 9 s. A collective and a wait in the store have a timeout of 8 s, between
// hosts, within a host, and between collectives.
// docs/acceptance.md, Failures: Time that a job is suspended does not count against the timeout of
// a collective.
TEST(Stop, CtrlZDoesNotCountAgainstTheTimeoutOfACollective) {
  BprunProcess bprun({{"-H", "localhost:2,127.0.0.1:2", rank_program(), "be-suspended", "8000"}});
  ASSERT_TRUE(bprun.wait_for("[3] waiting\n")) << bprun.err();
  bprun.signal(SIGTSTP);
  ASSERT_TRUE(bprun.wait_until_stopped(5)) << "bprun and the four ranks must stop";
  ::sleep(9);
  bprun.signal(SIGCONT);
  ASSERT_TRUE(bprun.wait_until_stopped(0));
  bprun.signal(SIGUSR1);
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  for (const char rank : {'0', '1', '2', '3'}) {
    EXPECT_THAT(bprun.out(), HasSubstr(concat("[", rank, "] right\n")));
  }
}

TEST(Stop, UserSignalsAreForwarded) {
  BprunProcess bprun({{"-n", "1", "sh", "-c",
                       "trap 'echo one' USR1; trap 'echo two; exit 0' USR2; echo ready; "
                       "while :; do sleep 0.01; done"}});
  ASSERT_TRUE(bprun.wait_for("[0] ready\n"));
  bprun.signal(SIGUSR1);
  ASSERT_TRUE(bprun.wait_for("[0] one\n"));
  bprun.signal(SIGUSR2);
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_THAT(bprun.out(), HasSubstr("[0] two\n"));
}

// The ranks begin with the ignored signals of bprun. If several are pending, SIGHUP and SIGINT are
// delivered before SIGUSR1.
// docs/acceptance.md, Failures: nohup works.
TEST(Stop, ASignalThatBprunInheritsAsIgnoredStaysIgnored) {
  const auto run = [](std::vector<std::string> before, const std::vector<int>& signals) {
    BprunProcess bprun({.arguments = {"-n", "1", "sh", "-c",
                                      "trap 'echo one; exit 0' USR1; grep SigIgn "
                                      "/proc/$$/status; while :; do sleep 0.01; done"},
                        .before = std::move(before)});
    EXPECT_TRUE(bprun.wait_for("[0] SigIgn:"));
    for (const int number : signals) {
      bprun.signal(number);
    }
    bprun.signal(SIGUSR1);
    EXPECT_EQ(bprun.finish(), 0) << bprun.err();
    EXPECT_THAT(bprun.err(), Not(HasSubstr("stopping")));
    return bprun.out();
  };
  EXPECT_EQ(run({"/usr/bin/nohup"}, {SIGHUP}), "[0] SigIgn:\t0000000000000001\n[0] one\n");
  EXPECT_EQ(run({"/bin/sh", "-c", "trap '' INT QUIT; exec \"$@\"", "sh"}, {SIGINT}),
            "[0] SigIgn:\t0000000000000006\n[0] one\n");
  EXPECT_EQ(run({"/bin/bash", "-c", "trap '' CHLD; exec \"$@\"", "bash"}, {}),
            "[0] SigIgn:\t0000000000000000\n[0] one\n");
}

// srun sends a batch system's warning only to the processes that it started, which are the agents.
TEST(Stop, UserSignalsToAnAgentReachItsRanks) {
  BprunProcess bprun({{"-n", "1", "sh", "-c",
                       "trap 'echo one; exit 0' USR1; kill -USR1 $PPID; "
                       "while :; do sleep 0.01; done"}});
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  EXPECT_EQ(bprun.out(), "[0] one\n");
}

}  // namespace
}  // namespace bp::test
