// Failures of ranks and of bprun itself on several hosts. HostsTest checks that no process is left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "base/text.h"
#include "tests/hosts/hosts.h"
#include "tests/support/memory_limit.h"
#include "tests/support/places.h"
#include "tests/support/scratch.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::ContainsRegex;
using testing::HasSubstr;
using FailureOnHosts = HostsTest;

constexpr const char* kUneven = "a:1,b:2,c:3";

// docs/acceptance.md, Failures: bprun ends with the failed rank's exit code, and names rank, host
// and reason.
TEST_F(FailureOnHosts, KeepsTheCodeOfTheRankAndNamesItsHost) {
  const auto start = std::chrono::steady_clock::now();
  BprunProcess bprun = run({"-H", kUneven, rank_program(), "exit", "4", "7"});
  EXPECT_EQ(bprun.finish(), 7);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s) << "a quiet machine takes 2 s";
  EXPECT_THAT(bprun.err(),
              ContainsRegex(
                  "bprun: FAILED  rank 4 on c \\(local rank 1, pid [0-9]+\\) exited with code 7"));
  EXPECT_THAT(bprun.err(), HasSubstr("; ranks 0-3,5 were stopped by bprun (SIGTERM, "));
  EXPECT_THAT(bprun.err(), HasSubstr("  last stderr of rank 4:\n    | rank 4 has enough\n"));
  expect_no_process_on({"a", "b", "c"});  // as soon as bprun has ended
}

TEST_F(FailureOnHosts, NamesTheSignal) {
  BprunProcess bprun = run({"-H", kUneven, rank_program(), "signal", "1", std::to_string(SIGSEGV)});
  EXPECT_EQ(bprun.finish(), 139);
  EXPECT_THAT(bprun.err(), ContainsRegex("rank 1 on b .*was killed by signal 11 \\(SIGSEGV\\)"));
}

// The agent and the rank of host b have their own control group, as in a container.
// docs/acceptance.md, Failures: A rank that takes too much memory is named.
TEST_F(FailureOnHosts, ARankThatTakesTooMuchMemoryIsNamed) {
  const MemoryLimit limit;
  if (!limit.exists()) GTEST_SKIP() << "this machine permits no new control groups";
  const Scratch scratch;
  const std::string agent =
      scratch.write("bprun", concat("#!/bin/sh\n[ \"$(hostname)\" != b ] || echo $$ >",
                                    limit.members(), "\nexec ", kBinDir, "/bprun \"$@\"\n"));
  std::filesystem::permissions(agent, std::filesystem::perms::owner_all);
  BprunProcess bprun = run({"-H", "a:1,b:1", "--remote-bprun", agent, "sh", "-c",
                            "[ $RANK = 1 ] && exec tail /dev/zero; exec sleep 1000"});
  EXPECT_EQ(bprun.finish(), 137);
  EXPECT_THAT(bprun.err(), ContainsRegex("rank 1 on b .*was killed by signal 9 \\(SIGKILL\\)"));
  // The hint comes from the kernel's log if that can be read and names this process, otherwise from
  // the counts of the control group.
  EXPECT_THAT(bprun.err(),
              ContainsRegex("\n  hint: out of memory: (the kernel killed it because its control "
                            "group is out of memory; it held [0-9]+ MiB|its control group ran out "
                            "of memory, and the kernel killed a process of it \\(limit 64 MiB\\)); "
                            "fewer ranks on that host, a smaller --batch, or a higher limit\n"));
}

// docs/acceptance.md, Failures: The first failure is reported, not its consequences.
TEST_F(FailureOnHosts, NamesTheKilledRankAndNotThoseThatFailBecauseOfIt) {
  BprunProcess bprun = run({"-H", kUneven, rank_program(), "join", "die"});
  EXPECT_EQ(bprun.finish(), 137);
  EXPECT_THAT(bprun.err(), ContainsRegex("bprun: FAILED  rank 1 on b .*was killed by signal 9 "));
}

// docs/acceptance.md, Failures: A killed bprun leaves no process on any host.
TEST_F(FailureOnHosts, SigkillOfBprunLeavesNoProcess) {
  BprunProcess bprun = run({"-H", "a:2,b:1", rank_program(), "family"});
  ASSERT_TRUE(all_say(bprun, 3, "ready"));
  EXPECT_GE(hosts().processes("a").size(), 9U)
      << "an agent, and two ranks with three descendants each";
  bprun.signal(SIGKILL);
  EXPECT_EQ(bprun.finish(), 137);
}

TEST_F(FailureOnHosts, CtrlCTwiceKillsRanksThatIgnoreIt) {
  BprunProcess bprun = run({"-H", "a:2,b:1", rank_program(), "family"});
  ASSERT_TRUE(all_say(bprun, 3, "ready"));
  bprun.signal(SIGINT);
  ASSERT_TRUE(bprun.wait_for("stopping 3 ranks"));
  bprun.signal(SIGINT);
  EXPECT_EQ(bprun.finish(), 130);
  expect_no_process_on({"a", "b"});
}

TEST_F(FailureOnHosts, LeftoverProcessesOfASuccessfulRunAreStopped) {
  BprunProcess bprun =
      run({"-H", "a:2,b:1", "sh", "-c", "setsid sleep 1000 & sleep 1000 & exit 0"});
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  expect_no_process_on({"a", "b"});
}

TEST_F(FailureOnHosts, DoesNotAffectASecondJobOnTheSameHosts) {
  BprunProcess other = run({"-H", "a:2,b:1", rank_program(), "work"});
  ASSERT_TRUE(all_say(other, 3, "working"));
  BprunProcess failing = run({"-H", "a:1,b:2", rank_program(), "join", "die"});
  EXPECT_EQ(failing.finish(), 137);
  BprunProcess killed = run({"-H", "a:1,b:1", rank_program(), "family"});
  ASSERT_TRUE(killed.wait_for("[1] ready\n"));
  killed.signal(SIGKILL);
  EXPECT_EQ(killed.marked_at_last(), 0);
  other.signal(SIGUSR1);
  EXPECT_EQ(other.finish(), 0) << other.err();
  EXPECT_EQ(other.err(), "");
}

}  // namespace
}  // namespace bp::test
