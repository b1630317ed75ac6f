// Connections that do not belong to the job or break the protocol, and how the server treats them.
#include <fcntl.h>
#include <netinet/in.h>

#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "bp/log.h"
#include "tests/unit/store_raw_peer.h"

namespace bp {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class StoreHostileTest : public StoreTest {
 protected:
  using StoreTest::StoreTest;

  [[nodiscard]] std::string refusal(const StoreClientOptions& options) const {
    return error_of([&] { return connect_store(options); });
  }

  // The server still works, and it has not taken what happened for a rank's failure.
  void expect_unharmed() {
    const auto store = client();
    store->set("key", "value");
    EXPECT_EQ(store->get("key", 0ms), "value");
    EXPECT_FALSE(store->job_failure().has_value());
  }

  // A member breaks the protocol with `frame`, and the server must end its connection.
  void expect_lost(RawPeer& peer, const std::string& frame, const std::string& why) {
    const auto witness = client();
    peer.send(frame);
    EXPECT_TRUE(peer.is_closed());
    EXPECT_EQ(events_.until("lost 1 because of 1").back(), "lost 1 because of 1");
    EXPECT_EQ(witness->find("forged"), std::nullopt) << "the frame must have no effect";
    EXPECT_THAT(client()->job_failure()->text, HasSubstr(why));
  }
};

// The log has one line a second after the first refusal and, if more followed, one with the total
// at the end.
TEST_F(StoreHostileTest, RefusedConnectionsAreCountedInTheLog) {
  std::mutex mutex;
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view text) {
    const std::lock_guard lock(mutex);
    lines.emplace_back(text);
  });
  for (int i = 0; i < 3; ++i) {
    RawPeer stranger(server_->address());
    stranger.send("GET / HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(stranger.is_closed());
  }
  expect_unharmed();
  server_.reset();
  set_log_sink({});
  ASSERT_THAT(lines, testing::SizeIs(testing::AllOf(testing::Ge(1U), testing::Le(2U))));
  EXPECT_EQ(lines.back(),
            "the store refused 3 connections that did not prove the job's key (the last from "
            "127.0.0.1: it sent a frame longer than the limit)");
}

// docs/acceptance.md, Store: A client of the store with a wrong key is refused, and a store without
// the key is not trusted.
TEST_F(StoreHostileTest, WrongKeyIsReportedAtOnce) {
  StoreClientOptions wrong = options(3);
  wrong.key = random_job_key();
  EXPECT_EQ(refusal(wrong),
            concat("invalid_argument: rank 3 cannot join the store ", server_->address().text(),
                   ": it has another key than this process; BP_STORE and BP_KEY_FD are not of one "
                   "job"));
  expect_unharmed();
}

// docs/acceptance.md, Store: A client of another job is refused, also one left over from an earlier
// job.
TEST_F(StoreHostileTest, WrongJobIsReportedAtOnce) {
  StoreClientOptions wrong = options(3);
  wrong.job = "job-2";
  EXPECT_THAT(refusal(wrong), AllOf(StartsWith("invalid_argument: rank 3 cannot join the store "),
                                    HasSubstr("it serves another job than \"job-2\"")));
  wrong.job = std::string(257, 'j');
  EXPECT_THAT(refusal(wrong), HasSubstr("the job's name has 257 bytes"));
  expect_unharmed();
}

TEST_F(StoreHostileTest, RankBeyondTheWorldOrTwiceIsRefused) {
  EXPECT_THAT(refusal(options(8)), HasSubstr("its job has no such rank"));
  const auto first = client(7);
  EXPECT_THAT(refusal(options(7)), HasSubstr("that rank has joined already"));
  first->set("key", "still here");
  expect_unharmed();
}

TEST_F(StoreHostileTest, OtherVersionGetsTheServersVersion) {
  RawPeer peer(server_->address());
  peer.send(plain_frame("bpst\0\0\0\x63, and what only version 99 knows"s));
  const auto answer = peer.receive_handshake();
  ASSERT_TRUE(answer && answer->message);
  EXPECT_EQ(answer->version, kStoreVersion);
  EXPECT_EQ(answer->message->op, StoreOp::refusal);
  EXPECT_EQ(answer->message->number, static_cast<std::int64_t>(StoreRefusal::version));
  EXPECT_TRUE(peer.is_closed());
  expect_unharmed();
}

TEST_F(StoreHostileTest, ProofOfTheServerIsNoProofOfTheClient) {
  RawPeer peer(server_->address());
  peer.send(RawPeer::proof(peer.meet(1)));
  EXPECT_TRUE(peer.is_closed());
  expect_unharmed();
}

TEST_F(StoreHostileTest, HandshakeOfAnotherConnectionIsNoProof) {
  RawPeer honest(server_->address());
  const std::string proof = honest.join(key_, -1);
  RawPeer thief(server_->address());
  thief.meet(-1);
  thief.send(proof);
  EXPECT_TRUE(thief.is_closed());
  expect_unharmed();
}

TEST_F(StoreHostileTest, RequestsBeforeTheProofHaveNoEffect) {
  RawPeer peer(server_->address());
  peer.meet(1);
  peer.send(plain_frame(
      encode_handshake({.op = StoreOp::set, .strings = {"key", "by an unauthenticated peer"}})));
  EXPECT_TRUE(peer.is_closed());
  EXPECT_EQ(client()->find("key"), std::nullopt);
}

TEST_F(StoreHostileTest, ReplayedFrameIsRefused) {
  RawPeer peer(server_->address());
  peer.join(key_, 1);
  const std::string frame = peer.sealed({.op = StoreOp::add, .number = 1, .strings = {"sum"}});
  peer.send(frame);
  peer.receive_sealed(StoreOp::done);
  expect_lost(peer, frame, "altered, replayed or out of order");
  EXPECT_EQ(client()->find("sum"), "1");
}

TEST_F(StoreHostileTest, ReflectedFrameIsRefused) {
  RawPeer peer(server_->address());
  peer.join(key_, 1);
  const auto asking = client();
  asking->request_stop();
  expect_lost(peer, peer.receive_sealed(StoreOp::stop_requested),
              "altered, replayed or out of order");
}

TEST_F(StoreHostileTest, AlteredFrameIsRefused) {
  RawPeer peer(server_->address());
  peer.join(key_, 1);
  std::string frame = peer.sealed({.op = StoreOp::set, .strings = {"forgex", "x"}});
  frame[frame.find("forgex") + 5] = 'd';
  expect_lost(peer, frame, "altered, replayed or out of order");
}

// docs/acceptance.md, Store: An incomplete message to or from the store has no effect.
TEST_F(StoreHostileTest, BrokenConnectionWithinAFrameHasNoEffect) {
  RawPeer peer(server_->address());
  peer.join(key_, 1);
  const auto witness = client();
  const std::string frame = peer.sealed({.op = StoreOp::set, .strings = {"forged", "half"}});
  peer.send(frame.substr(0, frame.size() / 2));
  peer.hang_up();
  EXPECT_EQ(events_.until("lost 1 because of 1").back(), "lost 1 because of 1");
  EXPECT_EQ(witness->find("forged"), std::nullopt);
  EXPECT_THAT(client()->job_failure()->text, HasSubstr("(it closed its connection)"));
}

TEST_F(StoreHostileTest, MalformedMessageOfAMemberIsRefused) {
  RawPeer peer(server_->address());
  peer.join(key_, 1);
  expect_lost(peer, peer.sealed({.op = StoreOp::set, .strings = {"forged"}}), "malformed message");
}

TEST_F(StoreHostileTest, AnswerSentAsARequestIsRejected) {
  RawPeer peer(server_->address());
  peer.join(key_, 1);
  peer.send(peer.sealed({.op = StoreOp::done, .id = 7}));
  peer.receive_sealed(StoreOp::rejected);
  expect_unharmed();
}

TEST_F(StoreHostileTest, RequestIdOfAWaitInProgressIsRejected) {
  RawPeer peer(server_->address());
  peer.join(key_, 1);
  peer.send(peer.sealed({.op = StoreOp::get, .id = 7, .strings = {"a"}}));
  peer.send(peer.sealed({.op = StoreOp::get, .id = 7, .strings = {"b"}}));
  peer.receive_sealed(StoreOp::rejected);
  client()->set("b", "");
  client()->set("a", "");
  peer.receive_sealed(StoreOp::found);
  expect_unharmed();
}

TEST_F(StoreHostileTest, ExcessiveLengthsAreRefusedBeforeAndAfterTheHandshake) {
  const std::string two_to_the_63("\x80\0\0\0\0\0\0\0", 8);
  RawPeer stranger(server_->address());
  stranger.send(two_to_the_63);
  EXPECT_TRUE(stranger.is_closed());
  expect_unharmed();
  RawPeer member(server_->address());
  member.join(key_, 1);
  expect_lost(member, two_to_the_63, "longer than the limit");
}

TEST_F(StoreHostileTest, RandomBytesCloseTheConnection) {
  std::mt19937 random(20240607);
  for (int round = 0; round < 50; ++round) {
    RawPeer peer(server_->address());
    std::string bytes(2048, '\0');
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>(random()); });
    bytes[0] = static_cast<char>(random() % 2);  // some lengths are within the limits
    bytes[1] = 0;
    bytes[2] = static_cast<char>(random() % 8);
    peer.send(bytes);
    EXPECT_TRUE(peer.is_closed());
  }
  expect_unharmed();
}

TEST_F(StoreHostileTest, UnauthenticatedConnectionsBeyondTheLimitCloseTheOldest) {
  std::vector<RawPeer> strangers;
  for (int i = 0; i < 300; ++i) {
    strangers.emplace_back(server_->address());
  }
  for (std::size_t i = 0; i < 300 - 256; ++i) {
    EXPECT_TRUE(strangers[i].is_closed()) << i;
  }
  strangers.back().join(key_, 3);
  expect_unharmed();
}

TEST_F(StoreHostileTest, MemberThatDoesNotReadIsLostAndHarmsNoOther) {
  const auto store = client();
  RawPeer peer(server_->address());
  peer.join(key_, 1);
  constexpr std::uint64_t kWaits = 5;
  for (std::uint64_t id = 0; id < kWaits; ++id) {
    peer.send(peer.sealed({.op = StoreOp::get, .id = id, .strings = {concat("large", id)}}));
  }
  peer.send(peer.sealed({.op = StoreOp::add, .number = 1, .strings = {"waits"}}));
  peer.receive_sealed(StoreOp::done);
  testing::internal::CaptureStderr();
  for (std::uint64_t id = 0; id < kWaits; ++id) {
    store->set(concat("large", id), std::string(kMaxStoreValue, 'x'));
  }
  EXPECT_EQ(events_.until("lost 1 because of 1").back(), "lost 1 because of 1");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("the store ends its connection to rank 1: it leaves more than 64 MiB of "
                        "answers unread"));
  EXPECT_THAT(client()->job_failure()->text,
              HasSubstr("leaves more than 64 MiB of answers unread"));
  EXPECT_EQ(store->find("large0")->size(), kMaxStoreValue);
}

// A TCP socket that is not connected yet, so it has its descriptor before descriptors run out.
class LateSocket {
 public:
  LateSocket() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}

  [[nodiscard]] RawPeer connect(const StoreAddress& address) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(address.port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
    ::fcntl(fd_.get(), F_SETFL, O_NONBLOCK);
    return RawPeer(std::move(fd_));
  }

 private:
  Fd fd_;
};

// Returns the limit of descriptors that leaves `count` free. A new descriptor gets the lowest free
// number, and higher numbers may be in use.
rlim_t after_free_descriptors(int count) {
  std::vector<Fd> free;
  for (int i = 0; i < count; ++i) free.emplace_back(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  return static_cast<rlim_t>(free.back().get()) + 1;
}

// docs/acceptance.md, Strangers: Without descriptors the store closes unauthenticated connections.
TEST_F(StoreHostileTest, OutOfDescriptorsUnauthenticatedConnectionsAreClosed) {
  std::vector<LateSocket> sockets(4);
  const LimitedFiles limited(after_free_descriptors(2));
  std::vector<RawPeer> strangers;
  for (int i = 0; i < 3; ++i) {
    strangers.push_back(sockets[static_cast<std::size_t>(i)].connect(server_->address()));
  }
  EXPECT_TRUE(strangers[0].is_closed());
  RawPeer member = sockets[3].connect(server_->address());
  member.join(key_, 1);
  member.send(member.sealed({.op = StoreOp::set, .strings = {"key", "value"}}));
  member.receive_sealed(StoreOp::done);
}

// UBSan needs descriptors of its own to check memory.
#ifndef __SANITIZE_ADDRESS__
// accept() fails for lack of another descriptor although no other connection waits.
TEST_F(StoreHostileTest, MemberCanHaveTheLastDescriptor) {
  RawPeer other(server_->address());
  other.join(key_, 0);  // the server has opened all that it needs
  std::vector<LateSocket> sockets(1);
  const LimitedFiles limited(after_free_descriptors(1));
  RawPeer member = sockets[0].connect(server_->address());
  std::this_thread::sleep_for(50ms);  // the server could refuse the connection in this time
  member.join(key_, 1);
  member.send(member.sealed({.op = StoreOp::set, .strings = {"key", "value"}}));
  member.receive_sealed(StoreOp::done);
}
#endif

class StoreHandshakeTimeoutTest : public StoreHostileTest {
 protected:
  StoreHandshakeTimeoutTest() : StoreHostileTest(50ms) {}
};

TEST_F(StoreHandshakeTimeoutTest, SilentUnauthenticatedConnectionsAreClosed) {
  RawPeer silent(server_->address());
  RawPeer half(server_->address());
  const std::string hello = half.hello(1);
  half.send(hello.substr(0, hello.size() / 2));
  RawPeer unproved(server_->address());
  unproved.meet(1);
  EXPECT_TRUE(silent.is_closed());
  EXPECT_TRUE(half.is_closed());
  EXPECT_TRUE(unproved.is_closed());
}

}  // namespace
}  // namespace bp
