// Tests how ranks connect to each other while unauthenticated connections arrive at their ports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/keys/hmac.h"
#include "base/keys/job_key.h"
#include "base/text.h"
#include "bp/error.h"
#include "bp/log.h"
#include "comm/engine/observe/failure.h"
#include "comm/peers/connect_peers.h"
#include "comm/peers/peer_handshake.h"
#include "comm/store/socket.h"
#include "tests/support/memory_store.h"
#include "tests/support/refusal.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

const ListenOn kLoopback{.interface = "", .address = "127.0.0.1"};

TEST(PeerEndpoint, GoesThroughTheStoreAsText) {
  for (const auto& address : {"127.0.0.1", "::1"}) {
    const Endpoint at = listen_tcp({.interface = "", .address = address}).at;
    const auto decoded = Endpoint::decode(at.encode());
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->name(), at.name());
    EXPECT_EQ(decoded->identity, at.identity);
  }
  const Endpoint unix_socket = listen_unix().at;
  EXPECT_EQ(Endpoint::decode(unix_socket.encode())->encode(), unix_socket.encode());
  for (const auto* text :
       {"", "tcp", "tcp ab 1 127.0.0.1", "udp x y", "unix ", "tcp  1 example.org"}) {
    EXPECT_FALSE(Endpoint::decode(text)) << text;
  }
}

TEST(PeerEndpoint, IsANumericAddress) {
  EXPECT_EQ(refusal_of([] { return listen_tcp({.interface = "", .address = "example.org"}); }),
            "'example.org' is not a numeric address");
}

// docs/acceptance.md, Strangers: Both sides of a connection prove the key.
TEST(PeerHandshakeTest, BothSidesProveTheKey) {
  const JobKey key = random_job_key();
  const Bytes32 identity = random_bytes();
  PeerHandshake connecting(key, identity);
  PeerHandshake listening(key, identity);
  EXPECT_EQ(listening.take_hello(connecting.hello(70'000)), 70'000);
  EXPECT_TRUE(connecting.check_answer(listening.answer()));
  EXPECT_TRUE(listening.check_proof(connecting.proof()));
}

TEST(PeerHandshakeTest, RecordedMessagesAreUseless) {
  const JobKey key = random_job_key();
  const Bytes32 identity = random_bytes();
  PeerHandshake connecting(key, identity);
  PeerHandshake listening(key, identity);
  const std::string hello = connecting.hello(3);
  ASSERT_TRUE(listening.take_hello(hello));
  const std::string answer = listening.answer();
  ASSERT_TRUE(connecting.check_answer(answer));
  const std::string proof = connecting.proof();

  PeerHandshake again(key, identity);
  EXPECT_TRUE(again.take_hello(hello));  // a replayed hello is accepted but proves nothing
  (void)again.answer();
  EXPECT_FALSE(again.check_proof(proof));
  EXPECT_FALSE(again.check_proof(answer.substr(32)));
  PeerHandshake elsewhere(key, random_bytes());
  EXPECT_FALSE(elsewhere.take_hello(hello));
  PeerHandshake other_key(random_job_key(), identity);
  EXPECT_FALSE(other_key.take_hello(hello));
  PeerHandshake later(key, identity);
  (void)later.hello(3);
  EXPECT_FALSE(later.check_answer(answer));
}

// Makes the opening that peer_handshake.h describes by hand, with a nonce of 32 times 'a'.
std::string opening_by_hand(const std::string& magic, std::uint32_t rank) {
  std::string opening = magic;
  for (int byte = 0; byte < 4; ++byte) opening += static_cast<char>(rank >> (8 * byte) & 0xff);
  return opening + std::string(32, 'a');
}

TEST(PeerHandshakeTest, UsesTheBytesThatTheHeaderDescribes) {
  const JobKey key = random_job_key();
  const Bytes32 identity = random_bytes();
  Hmac hmac(key);
  const auto mac = [&](std::initializer_list<std::string_view> parts) {
    return std::string(view_of(hmac(parts)));
  };
  constexpr int kRank = 0x01020304;
  const std::string opening = opening_by_hand("bp peer1", kRank);
  PeerHandshake listening(key, identity);
  EXPECT_EQ(listening.take_hello(opening + mac({"bp peer hello ", view_of(identity), opening})),
            kRank);
  const std::string answer = listening.answer();
  const std::string nonce = answer.substr(0, 32);
  EXPECT_EQ(answer, nonce + mac({"bp peer answer", view_of(identity), opening, nonce}));
  EXPECT_TRUE(listening.check_proof(mac({"bp peer proof ", view_of(identity), opening, nonce})));

  EXPECT_EQ(PeerHandshake(key, identity).hello(kRank).substr(0, 12), "bp peer1\4\3\2\1");
  const std::string newer = opening_by_hand("bp peer2", kRank);
  EXPECT_FALSE(PeerHandshake(key, identity)
                   .take_hello(newer + mac({"bp peer hello ", view_of(identity), newer})))
      << "another version is refused although it knows the key";
}

TEST(PeerHandshakeTest, BytesOfAnotherLengthAreRefused) {
  const JobKey key = random_job_key();
  const Bytes32 identity = random_bytes();
  PeerHandshake connecting(key, identity);
  PeerHandshake listening(key, identity);
  const auto others = [](const std::string& bytes) {
    return std::vector{std::string(), bytes.substr(0, bytes.size() - 1), bytes + 'x',
                       bytes + bytes};
  };
  const std::string hello = connecting.hello(3);
  for (const std::string& bytes : others(hello)) EXPECT_FALSE(listening.take_hello(bytes));
  ASSERT_TRUE(listening.take_hello(hello));
  const std::string answer = listening.answer();
  for (const std::string& bytes : others(answer)) EXPECT_FALSE(connecting.check_answer(bytes));
  ASSERT_TRUE(connecting.check_answer(answer));
  const std::string proof = connecting.proof();
  for (const std::string& bytes : others(proof)) EXPECT_FALSE(listening.check_proof(bytes));
  EXPECT_TRUE(listening.check_proof(proof));
}

class ConnectPeersTest : public testing::Test {
 protected:
  ConnectPeersTest() {
    set_log_sink([this](LogLevel, std::string_view text) {
      const std::lock_guard lock(mutex_);
      logged_.emplace_back(text);
    });
  }
  ~ConnectPeersTest() override { set_log_sink({}); }

  // The connections of rank `rank` of `count`, or its error.
  struct Result {
    std::vector<Fd> connections;
    std::string error;
  };
  Result connect(int rank, int count, Listening own, std::chrono::milliseconds timeout = 20s) {
    Result result;
    const auto store = server_.connect(rank);
    try {
      result.connections = connect_peers({.rank = rank,
                                          .count = count,
                                          .key = key_,
                                          .timeout = timeout,
                                          .keys = "peer/",
                                          .purpose = "connect",
                                          .with = "to",
                                          .hint = " (hint)"},
                                         std::move(own), *store);
    } catch (const Error& error) {
      result.error = to_text(error);
    }
    store->goodbye();
    return result;
  }
  static Fd stranger(const Endpoint& to) {
    Fd fd(::socket(to.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to.address), to.size), 0);
    return fd;
  }
  static void send(const Fd& fd, const std::string& bytes) {
    std::string why;
    (void)send_all(fd.get(), bytes, Deadline(10s), why);
  }
  // Returns whether the bytes that are written to `a` arrive at `b`.
  static bool are_one_connection(const Fd& a, const Fd& b, const std::string& text) {
    send(a, text);
    std::string got;
    std::string why;
    return receive_some(b.get(), got, Deadline(10s), why) && got == text;
  }

  const JobKey key_ = random_job_key();
  MemoryStoreServer server_;
  std::mutex mutex_;
  std::vector<std::string> logged_;
};

TEST_F(ConnectPeersTest, TheFirstRankGetsAConnectionToEachOther) {
  constexpr int kRanks = 5;
  std::vector<Result> results(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      results[rank] = connect(rank, kRanks, rank == 0 ? listen_tcp(kLoopback) : Listening());
    });
  }
  for (auto& thread : threads) thread.join();
  ASSERT_EQ(results[0].error, "");
  EXPECT_FALSE(results[0].connections[0]);
  for (int rank = 1; rank < kRanks; ++rank) {
    ASSERT_EQ(results[rank].error, "");
    EXPECT_TRUE(are_one_connection(results[rank].connections[0], results[0].connections[rank],
                                   concat(rank, " to 0")));
    EXPECT_TRUE(are_one_connection(results[0].connections[rank], results[rank].connections[0],
                                   concat("0 to ", rank)));
    for (int other = 1; other < kRanks; ++other) {
      EXPECT_FALSE(results[rank].connections[other]);
    }
  }
  EXPECT_THAT(logged_, ElementsAre());
}

// Opens the connections before the rank connects, more of them than the listener keeps at a time.
// BP_SIEGE gives their number (scripts/acceptance: 2,000).
// docs/acceptance.md, Strangers: Strangers that connect before a rank do not block it.
TEST_F(ConnectPeersTest, EarlierUnauthenticatedConnectionsDoNotBlockTheRank) {
  Listening own = listen_tcp(kLoopback);
  const Endpoint at = own.at;
  std::vector<Fd> strangers;
  const char* const asked = std::getenv("BP_SIEGE");
  const int count = asked == nullptr ? 200 : std::atoi(asked);
  for (int i = 0; i < count; ++i) {
    strangers.push_back(stranger(at));
    if (i % 4 == 1) send(strangers.back(), std::string(2048, static_cast<char>(i)));
    if (i % 4 == 2) send(strangers.back(), "bp pe");
    if (i % 4 == 3) send(strangers.back(), PeerHandshake(random_job_key(), at.identity).hello(1));
  }
  Result lower;
  std::thread thread([&] { lower = connect(0, 2, std::move(own)); });
  Result upper = connect(1, 2, listen_tcp(kLoopback));
  thread.join();
  ASSERT_EQ(lower.error, "");
  ASSERT_EQ(upper.error, "");
  std::cout << "refused " << count << " connections\n";
  EXPECT_TRUE(are_one_connection(lower.connections[1], upper.connections[0], "to the lower"));
  EXPECT_TRUE(are_one_connection(upper.connections[0], lower.connections[1], "to the upper"));
  EXPECT_THAT(logged_, ElementsAre(AllOf(
                           HasSubstr(concat("rank 0 refused ", count,
                                            " connections that did not prove the job's key (the "
                                            "last from 127.0.0.1: it ")),
                           EndsWith(")"))));
}

// A process between two ranks forwards and records everything.
// docs/acceptance.md, Strangers: A stranger that replays a recorded handshake does not get in.
TEST_F(ConnectPeersTest, RecordedHandshakeAdmitsNoOtherPeer) {
  Listening own = listen_tcp(kLoopback);
  const Endpoint at = own.at;
  Result lower;
  std::thread thread([&] { lower = connect(0, 3, std::move(own)); });
  PeerHandshake rank(key_, at.identity);
  const Fd real = stranger(at);
  const std::string hello = rank.hello(1);
  send(real, hello);
  std::string answer;
  std::string why;
  while (answer.size() < kPeerAnswer) {
    ASSERT_TRUE(receive_some(real.get(), answer, Deadline(10s), why)) << why;
  }
  ASSERT_TRUE(rank.check_answer(answer));
  const std::string proof = rank.proof();
  send(real, proof);
  std::string verdict;
  ASSERT_TRUE(receive_some(real.get(), verdict, Deadline(10s), why)) << why;
  EXPECT_EQ(verdict, std::string(1, kPeerAccepted));

  const Fd replay = stranger(at);
  send(replay, hello + proof);
  std::string got;
  while (receive_some(replay.get(), got, Deadline(10s), why)) {
  }
  EXPECT_EQ(got.size(), kPeerAnswer);  // a new challenge, and then the end

  PeerHandshake last(key_, at.identity);
  const Fd second = stranger(at);
  send(second, last.hello(2));
  answer.clear();
  while (answer.size() < kPeerAnswer) {
    ASSERT_TRUE(receive_some(second.get(), answer, Deadline(10s), why)) << why;
  }
  ASSERT_TRUE(last.check_answer(answer));
  send(second, last.proof());
  thread.join();
  EXPECT_EQ(lower.error, "");
  EXPECT_TRUE(are_one_connection(real, lower.connections[1], "from rank 1"));
  EXPECT_THAT(logged_, ElementsAre("rank 0 refused 1 connection that did not prove the job's key "
                                   "(from 127.0.0.1: it does not know the job's key)"));
}

TEST_F(ConnectPeersTest, AbsentRanksAreNamedWithTheAddress) {
  Listening own = listen_tcp(kLoopback);
  const std::string name = own.at.name();
  EXPECT_EQ(connect(0, 3, std::move(own), 50ms).error,
            concat("timeout: rank 0 waited 50 ms for ranks 1, 2 to connect at ", name, " (hint)"));
}

TEST_F(ConnectPeersTest, RefusingAddressIsNamedAtOnce) {
  const std::string gone = listen_tcp(kLoopback).at.encode();
  const auto store = server_.connect(0);
  store->set("peer/0", gone);
  EXPECT_EQ(connect(1, 2, listen_tcp(kLoopback)).error,
            "io: rank 1 cannot connect to rank 0: Connection refused (hint)");
  store->goodbye();
}

TEST_F(ConnectPeersTest, InvalidAddressIsNamed) {
  const auto store = server_.connect(0);
  store->set("peer/0", "rubbish");
  EXPECT_THAT(connect(1, 2, listen_tcp(kLoopback)).error,
              EndsWith("rank 1 cannot connect to rank 0: it published an address of another "
                       "form (hint)"));
  store->goodbye();
}

// Returns the error of rank 1 if another process has replaced rank 0. That process answers hello
// with `answer` and a proof with an 'x'.
class ImpostorTest : public ConnectPeersTest {
 protected:
  std::string meet(const std::function<std::string(PeerHandshake&, const std::string&)>& answer) {
    const Listening impostor = listen_tcp(kLoopback);
    const auto store = server_.connect(0);
    store->set("peer/0", impostor.at.encode());
    std::string error;
    std::thread rank([&] { error = connect(1, 2, listen_tcp(kLoopback)).error; });
    pollfd ready{impostor.socket.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&ready, 1, 10'000), 1);
    const Fd peer(::accept(impostor.socket.get(), nullptr, nullptr));
    PeerHandshake handshake(key_, impostor.at.identity);
    send(peer, answer(handshake, receive(peer, kPeerHello)));
    (void)receive(peer, kPeerProof);
    send(peer, "x");
    rank.join();
    store->goodbye();
    return error;
  }
  // Returns the received bytes, fewer than `size` if the other end closes.
  static std::string receive(const Fd& fd, std::size_t size) {
    std::string got;
    std::string why;
    while (got.size() < size && receive_some(fd.get(), got, Deadline(10s), why)) {
    }
    return got;
  }
};

TEST_F(ImpostorTest, WithoutTheKeyIsNamed) {
  EXPECT_THAT(
      meet([](PeerHandshake&, const std::string&) { return std::string(kPeerAnswer, 'x'); }),
      EndsWith("rank 1 cannot connect to rank 0: it does not know the job's key (hint)"));
}

TEST_F(ImpostorTest, ThatBreaksTheProtocolIsNamed) {
  EXPECT_THAT(meet([](PeerHandshake& handshake, const std::string& hello) {
                EXPECT_EQ(handshake.take_hello(hello), 1);
                return handshake.answer();
              }),
              EndsWith("rank 1 cannot connect to rank 0: it broke the protocol of the handshake "
                       "(hint)"));
}

TEST_F(ConnectPeersTest, FailedJobEndsTheWait) {
  std::thread other([this] {
    const auto store = server_.connect(1);
    (void)store->get("peer/0", 10s);
    store->fail_job({1, "io: the disk is full"});
    store->goodbye();
  });
  EXPECT_EQ(connect(0, 2, listen_tcp(kLoopback)).error,
            "aborted: rank 0 stopped waiting to connect to the others: the job has failed: "
            "io: the disk is full");
  other.join();
}

}  // namespace
}  // namespace bp::test
