// Hosts that are unreachable, lost, or only slow to answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <regex>
#include <string>

#include "base/text.h"
#include "tests/hosts/hosts.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;
using Network = HostsTest;

// Cuts host b off for `seconds` while three ranks reduce, and expects the job to succeed.
void stall_b(const Hosts& hosts, BprunProcess& bprun, unsigned seconds) {
  for (const char* working : {"[0] working\n", "[1] working\n", "[2] working\n"}) {
    ASSERT_TRUE(bprun.wait_for(working));
  }
  hosts.at("head", "bridge link set dev b state disabled");
  ::sleep(seconds);  // how long the fault lasts
  hosts.at("head", "bridge link set dev b state forwarding");
  bprun.signal(SIGUSR1);
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  // A rank warns when it has waited 10 s, and TCP may pause until 12.6 s after a stall of 7 s
  // begins.
  static const std::regex waiting(R"(\[\d\] [\d:.]+ W rank \d has waited 10 s [^\n]*\n)");
  EXPECT_EQ(std::regex_replace(bprun.err(), waiting, ""), "");
}

// docs/acceptance.md, Networks: A cut cable loses the host, and the others stop.
TEST_F(Network, ACutCableLosesTheHostAndStopsTheOthers) {
  BprunProcess bprun = run({"-H", "a:2,b:1,c:2", rank_program(), "work"});
  ASSERT_TRUE(all_say(bprun, 5, "working"));
  const auto start = std::chrono::steady_clock::now();
  hosts().at("head", "ip link set dev c down");
  EXPECT_EQ(bprun.finish(), 75) << bprun.err();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 50s) << "a quiet machine takes 10 s";
  EXPECT_THAT(bprun.err(), HasSubstr("bprun: FAILED  host c was lost (silent for 9.0 s) after "));
  EXPECT_THAT(bprun.err(), HasSubstr("\n  ranks 3-4 were on that host\n"));
  expect_no_process_on({"a", "b"});
}

// A rank alone on its host needs no loopback.
TEST_F(Network, AHostWithoutLoopbackIsNamed) {
  hosts().at("b", "ip link set dev lo down");
  BprunProcess one = run({"-H", "a:2,b:1", rank_program(), "rest", "0"});
  EXPECT_EQ(one.finish(), 0) << one.err();
  const auto start = std::chrono::steady_clock::now();
  BprunProcess two = run({"-H", "a:1,b:2", rank_program(), "rest", "0"});
  EXPECT_EQ(two.finish(), 75);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s) << "a quiet machine takes a second";
  EXPECT_THAT(two.err(),
              ContainsRegex("FAILED [^\n]*b[^\n]*: processes of this host do not reach "
                            "each other at 127\\.0\\.0\\.1: [^\n]* \\(ip link set dev lo "
                            "up, or let the firewall pass what comes from lo\\)\n"));
}

TEST_F(Network, AStallOfFiveSecondsDoesNoHarm) {
  BprunProcess bprun = run({"-H", "a:2,b:1", rank_program(), "work"});
  stall_b(hosts(), bprun, 5);
}

// TCP retransmits only 12.6 s after the stall begins, well after the 9 s of silence for which a
// host counts as lost.
// docs/acceptance.md, Networks: An outage of 3, 5 or 7 s, or of 25 s with `--lost-after 30s`, does
// no harm.
TEST_F(Network, AStallOfSevenSecondsDoesNoHarm) {
  BprunProcess bprun = run({"-H", "a:2,b:1", rank_program(), "work"});
  stall_b(hosts(), bprun, 7);
}

// docs/acceptance.md, Networks: A host that does not answer is named.
TEST_F(Network, AHostThatIsDownIsNamed) {
  for (const char* host : {"b", "c"}) {
    hosts().at("head", concat("ip link set dev ", host, " down"));
  }
  BprunProcess bprun = run({"--ssh", "ssh -o ConnectTimeout=2", "-H", "a:1,b:1,c:1", "true"});
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_THAT(
      bprun.first_error_line(),
      AnyOf("bprun: FAILED  host b could not be reached: ssh: connect to host b port 22: No "
            "route to host",
            "bprun: FAILED  host b could not be reached: ssh: connect to host b port 22: "
            "Connection timed out"));
  EXPECT_THAT(bprun.err(), HasSubstr("\n  host c could not be reached: "))
      << "both hosts are asked at the same time";
  EXPECT_THAT(bprun.err(), HasSubstr("\n  hint: the host is down, or a firewall is in between"));
}

// docs/acceptance.md, Networks: A host without an sshd is named.
TEST_F(Network, AHostWithoutSshdIsNamed) {
  hosts().at("b", "pkill -x sshd");
  BprunProcess bprun = run({"-H", "a:1,b:1", "true"});
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_EQ(bprun.first_error_line(),
            "bprun: FAILED  host b could not be reached: ssh: connect to host b port 22: "
            "Connection refused");
  EXPECT_THAT(bprun.err(), HasSubstr("\n  hint: no sshd listens there"));
}

// docs/acceptance.md, Networks: A host whose key has changed is named.
TEST_F(Network, AHostWhoseKeyHasChangedIsNamed) {
  hosts().at("head", concat("sed -i '/^b /s/ [^ ]*$/ '$(cut -d' ' -f2 ", hosts().folder(),
                            "/a.key.pub | sed 's|/|\\\\/|g')/ ", hosts().folder(), "/known_hosts"));
  BprunProcess bprun = run({"-H", "a:1,b:1", "true"});
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_EQ(bprun.first_error_line(),
            "bprun: FAILED  host b could not be reached: Host key for b has changed and you have "
            "requested strict checking.");
  EXPECT_THAT(bprun.err(), HasSubstr("\n  hint: if that is right, forget the old key: ssh-keygen"));
}

TEST_F(Network, AKilledConnectionLosesTheHost) {
  BprunProcess bprun = run({"-H", "a:1,b:1", rank_program(), "family"});
  ASSERT_TRUE(all_say(bprun, 2, "ready"));
  hosts().at("b", "pkill -KILL -f '[s]shd: root@'");
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_THAT(bprun.first_error_line(), StartsWith("bprun: FAILED  host b was lost ("));
}

TEST_F(Network, AnAddressThatEveryHostHasIsNotUsed) {
  for (const char* host : {"a", "b"}) {
    hosts().at(host,
               "ip link add docker0 type bridge && ip address add 172.17.0.1/16 dev docker0 && "
               "ip link set docker0 up");
  }
  BprunProcess bprun = run({"-H", "a:1,b:1", "printenv", "BP_INTERFACE"});
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  EXPECT_THAT(bprun.out(), HasSubstr("[0] 10.77.0.1\n"));
  EXPECT_THAT(bprun.out(), HasSubstr("[1] 10.77.0.2\n"));
  BprunProcess here = run({"-H", "localhost:1,a:1", "printenv", "BP_INTERFACE"});
  EXPECT_EQ(here.finish(), 0) << here.err();
  EXPECT_THAT(here.out(), HasSubstr("[0] 10.77.0.254\n"));
}

// docs/acceptance.md, Launcher: Of several addresses of a host, the job uses one that all others
// reach.
TEST_F(Network, AHostWithSeveralAddressesUsesOneThatWorks) {
  hosts().at("head", "ip address add 10.88.0.254/24 dev switch");
  hosts().at("a", "ip address add 10.88.0.1/24 dev eth0");
  hosts().at("b", "ip address add 10.88.0.2/24 dev eth0");
  hosts().at("a", "ip route add unreachable 10.77.0.2/32");
  BprunProcess bprun = run({"-H", "a:1,b:1", rank_program(), "traced"});
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  BprunProcess shown = run({"-H", "a:1,b:1", "printenv", "BP_INTERFACE"});
  EXPECT_EQ(shown.finish(), 0) << shown.err();
  EXPECT_THAT(shown.out(), HasSubstr("[0] 10.88.0.1\n")) << "a has no route to 10.77.0.2";
  EXPECT_THAT(shown.out(), HasSubstr("[1] 10.88.0.2\n"));
  BprunProcess wanted =
      run({"-H", "a:1,b:1", "--interface", "10.88.0.0/24", "printenv", "BP_INTERFACE", "BP_STORE"});
  EXPECT_EQ(wanted.finish(), 0) << wanted.err();
  EXPECT_THAT(wanted.out(), HasSubstr("[0] 10.88.0.1\n"));
  EXPECT_THAT(wanted.out(), HasSubstr("[1] 10.88.0.254:"));
}

// docs/acceptance.md, Networks: A host without 127.0.0.1 runs a job.
TEST_F(Network, AHostWithoutTheOldLoopbackAddressRunsAJob) {
  for (const char* const hosts : {"head:2", "[::1]:2", "localhost:1,head:1"}) {
    BprunProcess bprun = run({"-H", hosts, rank_program(), "recover"},
                             "ip address del 127.0.0.1/8 dev lo 2>/dev/null || :");
    EXPECT_EQ(bprun.finish(), 0) << hosts << '\n' << bprun.err();
  }
}

// docs/acceptance.md, Launcher: Hosts that do not reach each other are shown.
TEST_F(Network, HostsThatDoNotReachEachOtherAreShown) {
  hosts().at("a", "ip route add unreachable 10.77.0.2/32");
  BprunProcess bprun = run({"-H", "a:1,b:1,c:1", rank_program(), "join"});
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_THAT(bprun.first_error_line(),
              StartsWith("bprun: FAILED  a does not reach b at 10.77.0.2 (eth0: "));
  EXPECT_THAT(bprun.err(), ContainsRegex("\n  from . to  a          b          c          head\n"
                                         "  a          -          NO         yes        yes\n"));
  EXPECT_THAT(bprun.err(), HasSubstr("\n  hint: "));
  BprunProcess anyway = run({"-H", "a:1,b:1,c:1", "--no-probe", "true"});
  EXPECT_EQ(anyway.finish(), 0) << anyway.err();
  BprunProcess doctor = run({"doctor", "-H", "a,b,c"});
  EXPECT_EQ(doctor.finish(), 1);
  EXPECT_THAT(doctor.out(), HasSubstr("\nbetween hosts\n  fail  network  a does not reach b at "));
}

// docs/features.md, Launching: The network interface | `--interface`, `BP_INTERFACE`
TEST_F(Network, AHostWithoutTheInterfaceIsNamed) {
  hosts().at("head", "ip link add ib0 type bridge && ip address add 10.99.0.1/24 dev ib0");
  BprunProcess bprun = run({"-H", "a:1,b:1", "--interface", "ib0", "true"});
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_THAT(bprun.first_error_line(),
              ContainsRegex("^bprun: FAILED  host [ab] has no address of ib0; it has lo 127.0.0.1, "
                            "eth0 10.77.0."));
}

}  // namespace
}  // namespace bp::test
