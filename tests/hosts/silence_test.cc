// What happens when a signal stops a rank, an agent, bprun or all of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/hosts/hosts.h"

namespace bp::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using SilenceOnHosts = HostsTest;

// docs/acceptance.md, Failures: Without `--kill-silent` a silent rank is reported, and the job
// continues when the rank does.
TEST_F(SilenceOnHosts, OfARankIsReportedAndTheJobContinues) {
  BprunProcess bprun = run({"-H", "a:1,b:1", rank_program(), "work"});
  ASSERT_TRUE(all_say(bprun, 2, "working"));
  hosts().at("b", "pkill -STOP -x rank_program");
  EXPECT_TRUE(bprun.wait_for("has sent no heartbeat for 10.0 s"));
  EXPECT_THAT(bprun.err(), ContainsRegex("bprun: warning: rank 1 on b \\(local rank 0, pid "));
  hosts().at("b", "pkill -CONT -x rank_program");
  bprun.signal(SIGUSR1);
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
}

// docs/acceptance.md, Failures: `--kill-silent` ends a job with a silent rank.
TEST_F(SilenceOnHosts, OfARankEndsTheJobWithKillSilent) {
  BprunProcess bprun = run({"-H", "a:1,b:1", "--kill-silent=2s", rank_program(), "join", "stop"});
  EXPECT_EQ(bprun.finish(), 70);
  EXPECT_THAT(bprun.err(), ContainsRegex("bprun: FAILED  rank 1 on b .* sent no heartbeat for "));
}

// docs/acceptance.md, Failures: A stopped bprun ends the ranks.
TEST_F(SilenceOnHosts, OfBprunEndsTheRanks) {
  BprunProcess bprun = run({"-H", "a:1,b:1", rank_program(), "family"});
  ASSERT_TRUE(all_say(bprun, 2, "ready"));
  bprun.signal(SIGSTOP);
  EXPECT_THAT(hosts().processes_at_last("a"), IsEmpty())
      << "the agents must end the ranks, because bprun sends no heartbeats";
  EXPECT_THAT(hosts().processes_at_last("b"), IsEmpty());
  bprun.signal(SIGCONT);
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_THAT(bprun.first_error_line(),
              ContainsRegex("bprun: FAILED  bprun itself was stopped for [0-9.]+ s, and its agents "
                            "ended the ranks after "));
  EXPECT_THAT(bprun.err(),
              ContainsRegex("\n  the agent on [ab] heard nothing from bprun for 9.0 s, "
                            "not even by [0-9]+ new connections to "
                            "10.77.0.254:[0-9]+ \\(a connection, but no answer\\)"));
  EXPECT_THAT(bprun.err(), HasSubstr("\n  hint: a signal stopped bprun, or this machine slept"));
  EXPECT_THAT(bprun.err(), Not(HasSubstr(" was lost")));
}

TEST_F(SilenceOnHosts, OfASuspendedJobIsNoFailure) {
  BprunProcess bprun = run({"-H", "a:1,b:1", rank_program(), "work"});
  ASSERT_TRUE(all_say(bprun, 2, "working"));
  bprun.signal(SIGTSTP);
  ::sleep(10);  // longer than a host may be silent
  for (const char* host : {"a", "b"}) {
    hosts().at(host, "grep -q '^State:.T' /proc/$(pgrep -x rank_program)/status");
  }
  bprun.signal(SIGCONT);
  bprun.signal(SIGUSR1);
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  EXPECT_THAT(bprun.err(), Not(HasSubstr("bprun:")));
}

// docs/acceptance.md, Failures: A stopped agent loses its host.
TEST_F(SilenceOnHosts, OfAnAgentLosesTheHost) {
  BprunProcess bprun = run({"-H", "a:1,b:1", rank_program(), "family"});
  ASSERT_TRUE(all_say(bprun, 2, "ready"));
  hosts().at("b", "pkill -STOP -x bprun");
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_THAT(bprun.first_error_line(),
              StartsWith("bprun: FAILED  host b was lost (silent for 9.0 s) after "));
  EXPECT_THAT(hosts().processes_at_last("b"), IsEmpty())
      << "the watchdog must kill the stopped agent and its ranks";
}

}  // namespace
}  // namespace bp::test
