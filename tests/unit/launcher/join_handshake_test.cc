#include "launcher/agent/join_handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "base/keys/hmac.h"
#include "bp/error.h"
#include "launcher/agent/join_key.h"

namespace bp::launcher {
namespace {

using namespace std::chrono_literals;

// A handshake of the server. The test holds the client's end of the connection.
class JoinHandshakeTest : public testing::Test {
 protected:
  JoinHandshakeTest() { begin(60s); }

  void begin(std::chrono::milliseconds limit) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    client_end_ = Fd(ends[0]);
    handshake_.emplace(
        loop_, Fd(ends[1]), key_,
        JoinHandshake::Listener{[this](Channel::Ends admitted) { admitted_ = std::move(admitted); },
                                [this](const std::string& why) { refused_ = why; }},
        limit);
  }

  void send(const std::string& bytes) {
    ASSERT_EQ(::write(client_end_.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
    for (int i = 0; i < 4; ++i) loop_.run_once(1ms);  // a frame takes two reads
  }
  HandshakeBody answer() {
    std::string bytes(4096, '\0');
    bytes.resize(static_cast<std::size_t>(::read(client_end_.get(), bytes.data(), bytes.size())));
    return *decode_handshake(next_frame(bytes, {}).body);
  }

  const JobKey key_ = random_bytes();
  EventLoop loop_;
  Fd client_end_;
  std::optional<JoinHandshake> handshake_;
  std::optional<Channel::Ends> admitted_;
  std::string refused_;
};

TEST_F(JoinHandshakeTest, AClientWithTheKeyIsAdmittedAndItsRecordsAreRead) {
  ClientHandshake client(key_, kJoinHandshake, -1);
  send(client.hello());
  const auto step = client.take_challenge(answer());
  SealedStream seal(client.session(), SealedStream::End::client);
  send(step.frame + seal.seal("first words"));
  ASSERT_TRUE(admitted_);
  std::string bytes(4096, '\0');
  bytes.resize(static_cast<std::size_t>(::read(admitted_->in.get(), bytes.data(), bytes.size())));
  EXPECT_EQ(admitted_->seal->open(bytes), "first words");
  EXPECT_EQ(seal.open(admitted_->seal->seal("an answer")), "an answer");
}

// docs/acceptance.md, Other engines: A machine with another key is refused, and a key file that
// others can read too.
TEST_F(JoinHandshakeTest, AClientWithAnotherKeyIsRefusedAndLearnsThatTheKeysDiffer) {
  ClientHandshake client(random_bytes(), kJoinHandshake, -1);
  send(client.hello());
  EXPECT_TRUE(client.take_challenge(answer()).other_key);
  send(plain_frame(encode_handshake({.op = StoreOp::proof, .strings = {std::string(32, 'x')}})));
  EXPECT_EQ(refused_, "it does not know the job's key");
  EXPECT_FALSE(admitted_);
}

TEST_F(JoinHandshakeTest, ARankThatLooksForItsStoreIsRefused) {
  ClientHandshake client(key_, "another job", 3);
  send(client.hello());
  EXPECT_EQ(client.take_challenge(answer()).refusal, StoreRefusal::job);
  EXPECT_EQ(refused_, "it is not bprun --join");
}

TEST_F(JoinHandshakeTest, AnotherVersionIsRefusedAndReceivesTheServersVersion) {
  send(plain_frame(encode_handshake({.op = StoreOp::hello}, kStoreVersion + 1)));
  const HandshakeBody reply = answer();
  EXPECT_EQ(reply.version, kStoreVersion);
  EXPECT_EQ(reply.message->number, static_cast<std::int64_t>(StoreRefusal::version));
  EXPECT_EQ(refused_, "it has another version of bp");
}

TEST_F(JoinHandshakeTest, AnotherFrameThanHelloIsRefused) {
  send(plain_frame(encode_handshake({.op = StoreOp::proof, .strings = {std::string(32, 'x')}})));
  EXPECT_EQ(refused_, "it sent a malformed hello");
}

TEST_F(JoinHandshakeTest, AHelloWithAShortNonceIsRefused) {
  send(plain_frame(encode_handshake(
      {.op = StoreOp::hello, .number = -1, .strings = {kJoinHandshake, std::string(31, 'x')}})));
  EXPECT_EQ(refused_, "it sent a malformed hello");
}

TEST_F(JoinHandshakeTest, ASilentClientIsRefusedAtTheTimeLimit) {
  begin(1ms);
  for (int i = 0; i < 10 && refused_.empty(); ++i) loop_.run_once(1s);
  EXPECT_EQ(refused_, "it did not prove in time that it knows the key");
}

TEST_F(JoinHandshakeTest, AnotherProtocolIsRefused) {
  send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(refused_, "it does not speak the protocol of bprun");
}

TEST_F(JoinHandshakeTest, AClientThatDisconnectsIsRefused) {
  client_end_.reset();
  loop_.run_once(1s);
  EXPECT_EQ(refused_, "it closed the connection before it proved that it knows the key");
}

TEST(SealedStream, OpensCompleteRecordsAndRefusesAlteredOnes) {
  const Bytes32 session = random_bytes();
  SealedStream server(session, SealedStream::End::server);
  SealedStream client(session, SealedStream::End::client);
  const std::string text(3'000'000, 'x');
  std::string sealed = client.seal(text);
  sealed += client.seal("y");
  std::string opened = server.open(sealed.substr(0, 1'500'000));
  EXPECT_LT(opened.size(), 1'500'000U);
  opened += server.open(sealed.substr(1'500'000));
  EXPECT_EQ(opened, text + "y");

  std::string altered = client.seal("pay 1");
  altered[8] = '9';
  EXPECT_THROW((void)server.open(altered), Error);
}

// docs/acceptance.md, Other engines: Records of a joined machine that are replayed or reflected are
// refused.
TEST(SealedStream, RefusesReplayedAndReflectedRecords) {
  const Bytes32 session = random_bytes();
  SealedStream server(session, SealedStream::End::server);
  SealedStream client(session, SealedStream::End::client);
  const std::string record = client.seal("once");
  EXPECT_EQ(server.open(record), "once");
  EXPECT_THROW((void)server.open(record), Error);
  EXPECT_THROW((void)client.open(record), Error);
}

}  // namespace
}  // namespace bp::launcher
