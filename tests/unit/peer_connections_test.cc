// Tests the connections of ranks that are made one by one, when a rank wants them.
#include "comm/peers/peer_connections.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/keys/job_key.h"
#include "comm/store/socket.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;

Listening listen_here() { return listen_tcp({.interface = "", .address = "127.0.0.1"}); }

// A rank, and what its connections have told it.
class ConnectingRank {
 public:
  ConnectingRank(const PeerConnections::Settings& settings, Listening own)
      : at(own.at),
        connections_(
            settings,
            std::move(own),
            {.on_connected = [this](int peer, Fd fd) { note(connected_, peer, std::move(fd)); },
             .on_failure = [this](int peer,
                                  const std::string& why) { note(failed_, peer, why); }}) {}
  void connect_to(int peer, const Endpoint& where) { connections_.connect_to(peer, where); }

  // Each waits for the first event with the peer.
  int connection(int peer) { return wait_for(connected_, peer).get(); }
  std::string failure(int peer) { return wait_for(failed_, peer); }
  [[nodiscard]] std::size_t events() {
    const std::lock_guard lock(mutex_);
    return connected_.size() + failed_.size();
  }

  const Endpoint at;

 private:
  template <class T>
  void note(std::map<int, T>& notes, int peer, T value) {
    const std::lock_guard lock(mutex_);
    notes.emplace(peer, std::move(value));
    changed_.notify_all();
  }
  template <class T>
  const T& wait_for(const std::map<int, T>& notes, int peer) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 20s, [&] { return notes.contains(peer); })) << peer;
    return notes.at(peer);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, Fd> connected_;
  std::map<int, std::string> failed_;
  PeerConnections connections_;
};

class PeerConnectionsTest : public testing::Test {
 protected:
  [[nodiscard]] PeerConnections::Settings rank(int number, int ranks) const {
    return {.rank = number, .count = ranks, .key = key_, .answer_within = 100ms};
  }
  // Whether bytes that are written to `a` arrive at `b`.
  static bool are_ends_of_one(int a, int b) {
    std::string why;
    std::string got;
    return send_all(a, "x", Deadline(10s), why) && receive_some(b, got, Deadline(10s), why) &&
           got == "x";
  }

  const JobKey key_ = random_job_key();
};

TEST_F(PeerConnectionsTest, OnlyThePairsThatAreWantedConnect) {
  constexpr int kRanks = 4;
  std::deque<ConnectingRank> ranks;
  for (int r = 0; r < kRanks; ++r) ranks.emplace_back(rank(r, kRanks), listen_here());
  const std::vector<std::pair<int, int>> wanted{{3, 0}, {1, 0}, {3, 2}};
  for (const auto& [higher, lower] : wanted) ranks[higher].connect_to(lower, ranks[lower].at);
  for (const auto& [higher, lower] : wanted) {
    const int up = ranks[lower].connection(higher);
    const int down = ranks[higher].connection(lower);
    EXPECT_TRUE(are_ends_of_one(up, down));
    EXPECT_TRUE(are_ends_of_one(down, up));
  }
  EXPECT_EQ(ranks[0].events(), 2);
  EXPECT_EQ(ranks[1].events(), 1);
  EXPECT_EQ(ranks[2].events(), 1);
  EXPECT_EQ(ranks[3].events(), 2);
}

// The lower rank of a pair gives way first. The higher one wants nothing here.
TEST_F(PeerConnectionsTest, TheLowerRankConnectsIfTheHigherDoesNot) {
  ConnectingRank zero(rank(0, 2), listen_here());
  ConnectingRank one(rank(1, 2), listen_here());
  zero.connect_to(1, one.at);
  EXPECT_TRUE(are_ends_of_one(zero.connection(1), one.connection(0)));
}

// Both begin, in any order and at any distance. A pair gets one connection.
TEST_F(PeerConnectionsTest, RanksThatBothConnectGetOneConnection) {
  for (int delay = 0; delay < 30; ++delay) {
    ConnectingRank zero(rank(0, 2), listen_here());
    ConnectingRank one(rank(1, 2), listen_here());
    zero.connect_to(1, one.at);
    std::this_thread::sleep_for(197ms + delay * 200us);  // around the time at which zero begins
    one.connect_to(0, zero.at);
    EXPECT_TRUE(are_ends_of_one(zero.connection(1), one.connection(0))) << delay;
    EXPECT_TRUE(are_ends_of_one(one.connection(0), zero.connection(1))) << delay;
  }
}

TEST_F(PeerConnectionsTest, ARankThatHasEndedIsReportedAtOnce) {
  const Endpoint gone = listen_here().at;
  ConnectingRank one({.rank = 1, .key = key_}, listen_here());
  one.connect_to(0, gone);
  EXPECT_EQ(one.failure(0), "Connection refused");
}

// The kernel drops connections to a socket whose backlog is full, as a firewall does.
// docs/acceptance.md, Failures: A machine that answers no connection is reported after the limit.
TEST_F(PeerConnectionsTest, AMachineThatAnswersNothingIsReportedAfterTheLimit) {
  const Listening full = listen_here();
  ASSERT_EQ(::listen(full.socket.get(), 0), 0);
  std::vector<Fd> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    static_cast<void>(::connect(others.back().get(), full.at.get(), full.at.size));
  }
  ConnectingRank one(rank(1, 2), listen_here());
  one.connect_to(0, full.at);
  EXPECT_EQ(one.failure(0), "no answer within 100 ms");
}

// Its machine accepts the connection, but the process is stopped, or does not run yet.
TEST_F(PeerConnectionsTest, ARankMayTakeAnyTimeForItsPartOfTheHandshake) {
  Listening late = listen_here();
  ConnectingRank one(rank(1, 2), listen_here());
  one.connect_to(0, late.at);
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(one.events(), 0);
  ConnectingRank zero(rank(0, 2), std::move(late));
  EXPECT_TRUE(are_ends_of_one(one.connection(0), zero.connection(1)));
}

}  // namespace
}  // namespace bp::test
