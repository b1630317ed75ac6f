#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <optional>
#include <thread>
#include <variant>

#include "base/deadline.h"
#include "base/keys/job_key.h"
#include "base/system/fd.h"
#include "base/text.h"
#include "bp/log.h"
#include "comm/store/socket.h"
#include "launcher/hosts/address.h"
#include "launcher/network/network_probe.h"
#include "launcher/network/port_holder.h"
#include "launcher/network/probe_listener.h"
#include "launcher/network/probe_round.h"
#include "launcher/network/reach.h"
#include "launcher/protocol/hello.h"

namespace bp::launcher {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;

std::vector<std::string> texts(const std::vector<InterfaceAddress>& addresses) {
  std::vector<std::string> found;
  for (const InterfaceAddress& entry : addresses) found.push_back(entry.address);
  return found;
}

TEST(Address, CandidatesAreAddressesThatOtherHostsMightReach) {
  const std::vector<InterfaceAddress> all{
      {"lo", "127.0.0.1"},       {"lo", "::1"},        {"eth0", "2001:db8::7"}, {"eth0", "fe80::1"},
      {"docker0", "172.17.0.1"}, {"eth0", "10.0.0.7"}, {"eth1", "169.254.1.1"}};
  EXPECT_THAT(texts(candidates(all, "", "")), ElementsAre("172.17.0.1", "10.0.0.7", "2001:db8::7"));
  EXPECT_THAT(texts(candidates(all, "10.0.0.7", "")),
              ElementsAre("10.0.0.7", "172.17.0.1", "2001:db8::7"));
  EXPECT_THAT(texts(candidates(all, "192.0.2.1", "")),
              ElementsAre("192.0.2.1", "172.17.0.1", "10.0.0.7", "2001:db8::7"))
      << "the host is behind NAT";
  EXPECT_THAT(texts(candidates(all, "172.17.0.1", "eth0")), ElementsAre("10.0.0.7", "2001:db8::7"));
  EXPECT_THAT(texts(candidates(all, "", "10.0.0.0/8")), ElementsAre("10.0.0.7"));
  EXPECT_THAT(texts(candidates(all, "", "172.17.0.1")), ElementsAre("172.17.0.1"));
  EXPECT_THAT(candidates(all, "127.0.0.1", "eth9"), IsEmpty());
  EXPECT_EQ(list_text({}), "none");
}

TEST(Address, IsInANetworkByTheBitsOfItsPrefix) {
  EXPECT_TRUE(in_network("10.1.2.3", "10.0.0.0/8"));
  EXPECT_TRUE(in_network("10.1.2.3", "10.1.2.2/31"));
  EXPECT_FALSE(in_network("10.1.2.3", "10.1.2.2/32"));
  EXPECT_TRUE(in_network("192.0.2.1", "10.0.0.0/0"));
  EXPECT_TRUE(in_network("fd00::1", "fc00::/7"));
  EXPECT_FALSE(in_network("10.1.2.3", "fc00::/0")) << "an IPv4 address is in no IPv6 network";
  for (const char* none : {"10.0.0.0/", "10.0.0.0/33", "10.0.0.0/18446744073709551616",
                           "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0.0", "/8", "eth0/8", ""}) {
    EXPECT_FALSE(in_network("10.0.0.0", none)) << none;
  }
}

ProbedHost host(const std::string& name, std::vector<InterfaceAddress> addresses) {
  return {.name = name, .machine = name, .addresses = std::move(addresses)};
}

// Three hosts, each with two addresses that all of them reach.
struct ThreeHosts {
  std::vector<ProbedHost> hosts{host("a", {{"eth0", "10.0.0.1"}, {"eth1", "10.1.0.1"}}),
                                host("b", {{"eth0", "10.0.0.2"}, {"eth1", "10.1.0.2"}}),
                                host("c", {{"eth0", "10.0.0.3"}, {"eth1", "10.1.0.3"}})};
  ProbeMatrix problems{3, ProbeProblems(3, std::vector<std::string>(2))};
};

// docs/acceptance.md, Launcher: Of several addresses of a host, the job uses one that all others
// reach.
TEST(Reach, TakesTheFirstAddressThatAllReach) {
  ThreeHosts three;
  EXPECT_THAT(choose_addresses(three.hosts, three.problems).addresses,
              ElementsAre("10.0.0.1", "10.0.0.2", "10.0.0.3"));
  three.problems[2][0][0] = "no answer within 3.0 s";
  const Reach reach = choose_addresses(three.hosts, three.problems);
  EXPECT_FALSE(reach.failure);
  EXPECT_THAT(reach.addresses, ElementsAre("10.1.0.1", "10.0.0.2", "10.0.0.3"));
}

// docs/acceptance.md, Launcher: Hosts that do not reach each other are shown.
TEST(Reach, ShowsTheWholeMatrixWhereAHostIsNotReached) {
  ThreeHosts three;
  three.problems[0][1] = {"no answer within 3.0 s", "Connection refused"};
  const Reach reach = choose_addresses(three.hosts, three.problems);
  ASSERT_TRUE(reach.failure);
  EXPECT_EQ(reach.failure->exit_code, 75);
  EXPECT_EQ(reach.failure->headline,
            "a does not reach b at 10.0.0.2 (eth0: no answer within 3.0 s), 10.1.0.2 (eth1: "
            "Connection refused)");
  EXPECT_THAT(
      reach.failure->more,
      ElementsAre("from \\ to  a          b          c", "a          -          NO         yes",
                  "b          yes        -          yes", "c          yes        yes        -"));
  EXPECT_THAT(reach.failure->hint, HasSubstr("a firewall between them drops connections"));
  EXPECT_THAT(reach.failure->hint, HasSubstr("--interface 10.0.0.0/8"));
  EXPECT_THAT(reach.failure->hint, testing::Not(HasSubstr("run bprun on one of the hosts")));
  EXPECT_THAT(reach.failure->hosts, ElementsAre("b"));
}

TEST(Reach, SaysWhyNoAddressIsReachedByAll) {
  ThreeHosts three;
  three.problems[0][1][0] = "No route to host";
  three.problems[2][1][1] = "another host answers there";
  const Reach reach = choose_addresses(three.hosts, three.problems);
  ASSERT_TRUE(reach.failure);
  EXPECT_EQ(reach.failure->headline, "no address of b is reached by all hosts");
  EXPECT_THAT(reach.failure->more,
              ElementsAre("10.0.0.2 (eth0) not by a: No route to host",
                          "10.1.0.2 (eth1) not by c: another host answers there"));
}

TEST(Reach, HostsOfOneMachineNeedNoNetworkAndTheLauncherReachesNoHost) {
  ThreeHosts three;
  three.hosts[1].machine = "a";
  three.hosts[2].asks = false;
  three.problems[0][1] = three.problems[1][0] = {"x", "x"};
  three.problems[2][0] = three.problems[2][1] = {"x", "x"};
  const Reach reach = choose_addresses(three.hosts, three.problems);
  EXPECT_FALSE(reach.failure);
  EXPECT_EQ(reach.addresses[2], "10.0.0.3");
}

TEST(Reach, NamesAHostAndNotTheLauncher) {
  ThreeHosts three;
  three.hosts[2].asks = false;
  three.problems[0][2] = {"no answer within 3.0 s", "no answer within 3.0 s"};
  const Failure failure = *choose_addresses(three.hosts, three.problems).failure;
  EXPECT_THAT(failure.hosts, ElementsAre("a"));
  EXPECT_THAT(failure.hint, HasSubstr(", or run bprun on one of the hosts"));
}

// The problems that one round finds with the addresses of one peer.
std::vector<std::string> try_peer(EventLoop& loop,
                                  const JobKey& key,
                                  const ProbePeer& peer,
                                  std::chrono::milliseconds limit = 15s) {
  std::optional<ProbeProblems> found;
  const ProbeRound round(loop, key, {peer}, limit,
                         [&found](const ProbeProblems& problems) { found = problems; });
  const Deadline deadline(20s);
  while (!found && !deadline.passed()) loop.run_once(100ms);
  return found ? found->at(0) : std::vector<std::string>{"the round has no end"};
}

// docs/features.md, Launching: The address of a host by its name | The one that the others reach.
TEST(Probe, ReachesTheRightHostByTheRightAddress) {
  EventLoop loop;
  const JobKey key = random_job_key();
  const ProbeListener listener(loop, 3, key);
  ASSERT_GT(listener.port(), 0);
  EXPECT_THAT(try_peer(loop, key, {3, listener.port(), {"127.0.0.1", "127.0.0.2", "x"}}),
              ElementsAre("", "", "that is not an address"));
  EXPECT_THAT(try_peer(loop, key, {4, listener.port(), {"127.0.0.1"}}),
              ElementsAre("another host answers there"));
  EXPECT_THAT(try_peer(loop, random_job_key(), {3, listener.port(), {"127.0.0.1"}}),
              ElementsAre("another host answers there"));
  EXPECT_THAT(try_peer(loop, key, {3, listener.port(), {}}), IsEmpty());
}

// 1,100 idle connections are more than the listener keeps at a time.
TEST(Probe, AnswersWhileStrangersHoldConnections) {
  std::string logged;
  set_log_sink([&](LogLevel, std::string_view text) { logged += text; });
  EventLoop loop;
  const JobKey key = random_job_key();
  auto listener = std::make_unique<ProbeListener>(loop, 0, key);
  std::vector<Fd> strangers;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(listener->port()));
  for (int i = 0; i < 1'100; ++i) {
    strangers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(strangers.back().get(), reinterpret_cast<const sockaddr*>(&address),
                        sizeof address),
              0);
    loop.run_once(0ms);
  }
  EXPECT_THAT(try_peer(loop, key, {0, listener->port(), {"127.0.0.1"}}), ElementsAre(""));
  listener.reset();
  set_log_sink({});
  EXPECT_THAT(logged, HasSubstr("the listener of the network probe refused "));
  EXPECT_THAT(logged, HasSubstr("it asked nothing before many others came"));
}

TEST(Probe, LogsAStrangerThatClosesItsConnection) {
  std::string logged;
  set_log_sink([&](LogLevel, std::string_view text) { logged += text; });
  EventLoop loop;
  auto listener = std::make_unique<ProbeListener>(loop, 0, random_job_key());
  std::string why;
  Fd stranger = connect_tcp({"127.0.0.1", listener->port()}, Deadline(10s), why);
  ASSERT_TRUE(stranger) << why;
  loop.run_once(1s);
  stranger.reset();
  loop.run_once(1s);
  listener.reset();
  set_log_sink({});
  EXPECT_THAT(logged, HasSubstr("it asked nothing and closed its connection"));
}

TEST(Probe, ReportsARefusalAndEndsAtItsTimeLimit) {
  EventLoop loop;
  HeldPort port;
  EXPECT_THAT(try_peer(loop, random_job_key(), {0, port.number(), {"127.0.0.1"}}),
              ElementsAre("Connection refused"));
  const Fd silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));  // sends nothing
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(silent.get(), generic, size), 0);
  ASSERT_EQ(::listen(silent.get(), 5), 0);
  ASSERT_EQ(::getsockname(silent.get(), generic, &size), 0);
  // The text names the time that has passed, which is longer than the limit on a busy machine.
  EXPECT_THAT(try_peer(loop, random_job_key(), {0, ntohs(address.sin_port), {"127.0.0.1"}}, 300ms),
              ElementsAre(MatchesRegex("no answer within [0-9.]+ s")));
}

// A host behind a network that loses large packets: it answers the question, and then no more of
// either end's bytes arrive.
// docs/acceptance.md, Networks: `bprun doctor` finds a network that loses large packets.
TEST(Probe, ReportsThatLargePacketsAreLost) {
  EventLoop loop;
  const JobKey key = random_job_key();
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(listener.get(), generic, size), 0);
  ASSERT_EQ(::listen(listener.get(), 5), 0);
  ASSERT_EQ(::getsockname(listener.get(), generic, &size), 0);
  for (const bool sends : {false, true}) {
    std::thread host([&] {
      const Fd asker(::accept(listener.get(), nullptr, nullptr));
      std::array<char, kProbeBytes> question{};
      ASSERT_EQ(::recv(asker.get(), question.data(), question.size(), MSG_WAITALL),
                static_cast<ssize_t>(kProbeBytes));
      std::string answer = probe_answer(key, 0, {question.data(), question.size()});
      if (sends) answer.resize(kProbeAll);
      EXPECT_EQ(write_all(asker.get(), answer.data(), answer.size()), answer.size());
      std::array<char, 4096> rest{};
      while (::read(asker.get(), rest.data(), rest.size()) > 0) continue;
    });
    EXPECT_THAT(try_peer(loop, key, {0, ntohs(address.sin_port), {"127.0.0.1"}}, 300ms),
                ElementsAre(concat("small packets arrive, but large packets ",
                                   sends ? "to" : "from", " there are lost")));
    host.join();
  }
}

TEST(Probe, DoesNotWaitLongForMoreAddressesOfAHostThatIsReached) {
  EventLoop loop;
  const JobKey key = random_job_key();
  const ProbeListener listener(loop, 0, key);
  // 240.0.0.0/4 is reserved: a connection is refused at once, or no host ever answers.
  std::optional<ProbeProblems> found;
  const ProbeRound round(loop, key, {{0, listener.port(), {"127.0.0.1", "240.0.0.1"}}}, 600s,
                         [&](const ProbeProblems& p) { found = p; });
  const Deadline deadline(30s);
  while (!found && !deadline.passed()) loop.run_once(100ms);
  ASSERT_TRUE(found) << "the round waits for its time limit";
  EXPECT_EQ(found->at(0).at(0), "");
  EXPECT_NE(found->at(0).at(1), "");
}

TEST(Probe, TriesManyPeersAFewAtATime) {
  EventLoop loop;
  const JobKey key = random_job_key();
  const ProbeListener listener(loop, 0, key);
  std::vector<ProbePeer> peers;
  for (int i = 0; i < 1000; ++i) {
    peers.push_back({0, listener.port(), {concat("127.0.", i / 250, ".", i % 250 + 1)}});
  }
  std::optional<ProbeProblems> found;
  const ProbeRound round(loop, key, peers, 60s, [&](const ProbeProblems& p) { found = p; });
  const Deadline deadline(60s);
  while (!found && !deadline.passed()) loop.run_once(100ms);
  ASSERT_TRUE(found);
  EXPECT_THAT(*found, testing::Each(ElementsAre("")));
}

// Agents of two machines, both of which are this machine.
class TwoAgents {
 public:
  explicit TwoAgents(const std::string& wanted, const std::string& launcher = "this machine")
      : probe_(loop_,
               {{"a", "machine a", "", wanted}, {"b", "machine b", "", ""}},
               {"here", launcher, "", ""},
               [this](std::size_t host, const ToAgent& message) { take(host, message); }) {}

  const Reach& run() {
    for (std::size_t host = 0; host < 2; ++host) {
      listeners_[host] = std::make_unique<ProbeListener>(loop_, static_cast<int>(host), key_);
      probe_.handle(host, ProbeReady{listeners_[host]->port(), own_addresses()});
    }
    const Deadline deadline(20s);
    while (!probe_.done() && !deadline.passed()) loop_.run_once(100ms);
    return probe_.reach();
  }

 private:
  void take(std::size_t host, const ToAgent& message) {
    if (const auto* listen = std::get_if<ProbeListen>(&message)) {
      key_ = listen->key;
    } else if (const auto* peers = std::get_if<ProbePeers>(&message)) {
      rounds_[host] = std::make_unique<ProbeRound>(
          loop_, key_, peers->peers, std::chrono::milliseconds(peers->limit_ms),
          [this, host](const ProbeProblems& found) { probe_.handle(host, ProbeReport{found}); });
    }
  }

  EventLoop loop_;
  JobKey key_{};
  std::array<std::unique_ptr<ProbeListener>, 2> listeners_;
  std::array<std::unique_ptr<ProbeRound>, 2> rounds_;
  NetworkProbe probe_;
};

TEST(NetworkProbe, FindsAnAddressOfEachHostAndOfTheLauncher) {
  if (candidates(own_addresses(), "", "").empty()) GTEST_SKIP() << "this host has only loopback";
  TwoAgents agents("");
  const Reach& reach = agents.run();
  EXPECT_FALSE(reach.failure) << reach.failure->headline;
  EXPECT_THAT(reach.addresses, testing::SizeIs(3));
  EXPECT_THAT(reach.addresses, testing::Not(testing::Contains("")));
}

TEST(NetworkProbe, TheLauncherBesideAnAgentHasTheAgentsAddress) {
  if (candidates(own_addresses(), "", "").empty()) GTEST_SKIP() << "this host has only loopback";
  TwoAgents agents("", "machine b");
  const Reach& reach = agents.run();
  ASSERT_FALSE(reach.failure) << reach.failure->headline;
  ASSERT_THAT(reach.addresses, testing::SizeIs(3));
  EXPECT_NE(reach.addresses[1], "");
  EXPECT_EQ(reach.addresses[2], reach.addresses[1]);
}

TEST(NetworkProbe, NamesAHostWithoutTheInterface) {
  TwoAgents agents("ib7");
  const Reach& reach = agents.run();
  ASSERT_TRUE(reach.failure);
  EXPECT_THAT(reach.failure->headline,
              testing::StartsWith("host a has no address of ib7; it has "));
  EXPECT_THAT(reach.failure->hosts, ElementsAre("a"));
}

TEST(NetworkProbe, IsDoneAtOnceOnOneMachine) {
  EventLoop loop;
  const NetworkProbe probe(loop, {{"a", "m", "", ""}, {"b", "m", "", ""}}, {"here", "m", "", ""},
                           [](std::size_t, const ToAgent&) { FAIL(); });
  ASSERT_TRUE(probe.done());
  EXPECT_THAT(probe.reach().addresses, ElementsAre("", "", ""));
}

// docs/acceptance.md, Launcher: The process that holds a port is named.
TEST(PortHolder, IsNamed) {
  EventLoop loop;
  const ProbeListener listener(loop, 0, random_job_key());
  const std::string holder = port_holder(listener.port());
  EXPECT_THAT(holder, testing::StartsWith(concat("pid ", ::getpid(), " (")));
  EXPECT_THAT(holder, testing::EndsWith(", unit_launcher)"));
  HeldPort bound;  // no process listens on it
  EXPECT_EQ(port_holder(bound.number()), "");
}

}  // namespace
}  // namespace bp::launcher
