// Networks that lose some or all packets between two hosts, while bprun reaches both.
// docs/acceptance.md, Networks: A network that loses large packets, one direction, both, or a
// connection is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <string>

#include "base/text.h"
#include "tests/hosts/hosts.h"

namespace bp::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// A rank misses an acknowledgement of what it has sent, or else an answer to its probes.
constexpr auto kGetsNothing =
    "rank [01] on [ab] gets nothing from rank [01] on [ab](, not even an answer to keepalive "
    "probes|, not even an acknowledgement of [0-9]+ bytes|: [0-9]+ bytes are not acknowledged) for "
    "[0-9]+ s[,;] ";

class DeadLinks : public HostsTest {
 protected:
  void SetUp() override {
    HostsTest::SetUp();
    if (!IsSkipped() && std::system("nft --version >/dev/null 2>&1") != 0) {
      GTEST_SKIP() << "nft is not installed (Debian: nftables)";
    }
  }
  // Drops what matches the rule, of what goes from one host to another.
  void drop(const std::string& rule) const {
    hosts().at("head",
               concat("nft add table bridge faults && nft add chain bridge faults drops '{ ",
                      "type filter hook forward priority 0; }' && nft add rule bridge "
                      "faults drops ",
                      rule, " drop"));
  }
  void drop_nothing() const { hosts().at("head", "nft delete table bridge faults"); }

  // Runs a job, drops packets of it, and expects the line that says so. Then the network is well
  // again, and so must be the job.
  void expect_named(const std::string& rule, const std::string& line) const {
    BprunProcess bprun = run({"-H", "a:1,b:1", rank_program(), "work"});
    ASSERT_TRUE(all_say(bprun, 2, "working"));
    drop(rule);
    EXPECT_TRUE(bprun.wait_for(" gets nothing from "));
    EXPECT_THAT(bprun.err(), ContainsRegex(line));
    drop_nothing();
    bprun.signal(SIGUSR1);
    EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  }
};

TEST_F(DeadLinks, ThatLoseLargePacketsInMidRunAreNamed) {
  expect_named(
      "iifname a oifname b meta length \\> 1000",
      "W rank 0 has waited 10 s .*: rank 1 on b gets nothing from rank 0 on a: [0-9]+ bytes are "
      "not acknowledged for [0-9]+ s, although packets of rank 1 on b arrive; the network loses "
      "packets on the way there, perhaps only large ones .*; rank 1 waits too, and both reach the "
      "job's store");
}

// A rank that has sent nothing since then does not know that the other direction is well.
TEST_F(DeadLinks, ThatLoseOneDirectionAreNamed) {
  expect_named("iifname a oifname b", concat("W rank [01] has waited 10 s .*: ", kGetsNothing));
}

TEST_F(DeadLinks, ThatLoseBothDirectionsAreNamed) {
  expect_named("ip saddr 10.77.0.1-10.77.0.2 ip daddr 10.77.0.1-10.77.0.2",
               concat("W rank [01] has waited 10 s .*: ", kGetsNothing));
}

TEST_F(DeadLinks, AreTheReasonOfATimeout) {
  BprunProcess bprun = run({"-H", "a:1,b:1", rank_program(), "work", "8000"});
  ASSERT_TRUE(all_say(bprun, 2, "working"));
  drop("iifname a oifname b");
  EXPECT_NE(bprun.finish(), 0);
  EXPECT_THAT(bprun.err(),
              ContainsRegex(concat("rank [01] waited 8000 ms for rank [01] .*: (it takes part, but "
                                   "nothing more came|not seen in this collective by then); "
                                   "(rank [01] is in [^;]*; )?",
                                   kGetsNothing)));
  EXPECT_THAT(bprun.err(), Not(HasSubstr("slow ranks need a longer timeout")));
}

// As by a firewall that has forgotten the connection: others may pass.
TEST_F(DeadLinks, WhoseConnectionIsForgottenAreNamed) {
  BprunProcess bprun = run({"-H", "a:1,b:1", rank_program(), "rest", "60"});
  ASSERT_TRUE(all_say(bprun, 2, "resting"));
  const std::string port = hosts().folder() + "/port";
  hosts().at(
      "a",
      concat("ss -Htn state established dst 10.77.0.2 | sed 's/.*10.77.0.1:\\([0-9]*\\).*/\\1/' >",
             port));
  drop(concat("tcp sport $(cat ", port, ")"));
  drop(concat("tcp dport $(cat ", port, ")"));
  EXPECT_TRUE(bprun.wait_for(" gets nothing from "));
  EXPECT_THAT(bprun.err(),
              ContainsRegex("W rank 1 has waited 1[0-9] s .*: rank 1 on b gets nothing from rank 0 "
                            "on a, not even an (answer to keepalive probes|acknowledgement of "
                            "[0-9]+ bytes) for [0-9]+ s"));
  bprun.signal(SIGINT);
  bprun.signal(SIGINT);
  EXPECT_EQ(bprun.finish(), 130) << bprun.err();
}

TEST_F(DeadLinks, ThatLoseLargePacketsAreNamedBeforeTheJob) {
  drop("iifname a oifname b meta length \\> 1000");
  BprunProcess bprun = run({"-H", "a:1,b:1,c:1", rank_program(), "work"});
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_EQ(bprun.first_error_line(),
            "bprun: FAILED  a does not reach b at 10.77.0.2 (eth0: small packets arrive, but large "
            "packets to there are lost)");
  EXPECT_THAT(bprun.err(), HasSubstr("\n  b does not reach a at 10.77.0.1 (eth0: small packets "
                                     "arrive, but large packets from there are lost)\n"));
  EXPECT_THAT(bprun.err(), HasSubstr("\n  hint: an interface or a switch between them has a "
                                     "smaller MTU than the hosts: "));
  BprunProcess doctor = run({"doctor", "-H", "a,b,c"});
  EXPECT_EQ(doctor.finish(), 1);
  EXPECT_THAT(doctor.out(), HasSubstr("\nbetween hosts\n  fail  network  a does not reach b at "
                                      "10.77.0.2 (eth0: small packets arrive, but large "));
}

}  // namespace
}  // namespace bp::test
