// How a client gets in, or says why it does not.
#include <netinet/in.h>
#include <sys/socket.h>

#include <future>

#include "tests/unit/store_raw_peer.h"

namespace bp {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A socket bound to a free port of loopback. As long as it does not listen, a server may.
class BoundPort {
 public:
  BoundPort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(fd_.get(), any, size), 0);
    EXPECT_EQ(::getsockname(fd_.get(), any, &size), 0);
    port_ = ntohs(address.sin_port);
  }

  [[nodiscard]] StoreAddress address() const { return {.host = "127.0.0.1", .port = port_}; }
  void listen() const { EXPECT_EQ(::listen(fd_.get(), 8), 0); }
  [[nodiscard]] RawPeer accept() const {
    return RawPeer(Fd(::accept(fd_.get(), nullptr, nullptr)));
  }

 private:
  Fd fd_;
  int port_ = 0;
};

class StoreConnectTest : public StoreTest {
 protected:
  // What connect_store() says of a server that answers hello with `answer`.
  std::string meet_server_that_says(const std::string& answer) {
    const BoundPort port;
    port.listen();
    StoreClientOptions client_options = options(3);
    client_options.address = port.address();
    auto text = std::async(std::launch::async,
                           [&] { return error_of([&] { return connect_store(client_options); }); });
    RawPeer server = port.accept();
    EXPECT_TRUE(server.receive_handshake());
    server.send(answer);
    return text.get();
  }
};

TEST_F(StoreConnectTest, ServerMayComeUpLate) {
  const BoundPort port;
  StoreClientOptions early = options(3);
  early.address = port.address();
  auto joined = std::async(std::launch::async, [&] {
    const auto store = connect_store(early);
    store->goodbye();
  });
  EXPECT_EQ(joined.wait_for(50ms), std::future_status::timeout);
  const auto late = start_server(port.address().port);
  joined.get();
  EXPECT_EQ(events_.until("goodbye 3").back(), "goodbye 3");
}

TEST_F(StoreConnectTest, NobodyThereIsATimeoutThatSaysWhy) {
  const BoundPort port;
  StoreClientOptions alone = options(3);
  alone.address = port.address();
  alone.connect_timeout = 60ms;
  EXPECT_THAT(error_of([&] { return connect_store(alone); }),
              AllOf(StartsWith(concat("timeout: rank 3 cannot join the store ",
                                      alone.address.text(), ": timeout after 0.06 s and ")),
                    HasSubstr("Connection refused; is bprun running there, and does a firewall")));
}

TEST_F(StoreConnectTest, ServerThatSaysNothingIsATimeout) {
  const BoundPort port;
  port.listen();
  StoreClientOptions waiting = options(3);
  waiting.address = port.address();
  waiting.connect_timeout = 60ms;
  EXPECT_THAT(error_of([&] { return connect_store(waiting); }),
              AllOf(StartsWith("timeout: "), HasSubstr("at last: no answer")));
}

TEST_F(StoreConnectTest, ServerThatHangsUpIsTriedAgain) {
  const BoundPort port;
  port.listen();
  StoreClientOptions persistent = options(3);
  persistent.address = port.address();
  persistent.connect_timeout = kSoon;
  auto text = std::async(std::launch::async,
                         [&] { return error_of([&] { return connect_store(persistent); }); });
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(port.accept().receive_handshake());
  }
  RawPeer last = port.accept();
  last.send(plain_frame("something else"));
  EXPECT_THAT(text.get(), HasSubstr("no bp store"));
}

TEST_F(StoreConnectTest, UnknownHostIsNamed) {
  StoreClientOptions lost = options(3);
  lost.address = {.host = "no-such-host.invalid", .port = 1};
  lost.connect_timeout = 10ms;
  EXPECT_THAT(error_of([&] { return connect_store(lost); }),
              StartsWith("timeout: rank 3 cannot join the store no-such-host.invalid:1: "));
}

TEST_F(StoreConnectTest, ServerOfAnotherVersionIsToldAtOnce) {
  EXPECT_THAT(meet_server_that_says(
                  plain_frame(encode_handshake({.op = StoreOp::refusal, .number = 1}, 7))),
              AllOf(StartsWith("invalid_argument: rank 3 cannot join the store 127.0.0.1:"),
                    HasSubstr("it speaks version 7 of the protocol, this program version 2")));
}

TEST_F(StoreConnectTest, AnythingButAStoreIsToldAtOnce) {
  for (const char* answer : {"SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n"}) {
    EXPECT_THAT(meet_server_that_says(answer),
                AllOf(StartsWith("invalid_argument: "), HasSubstr("is no bp store")));
  }
}

TEST_F(StoreConnectTest, ServerWithoutTheKeyIsNotTrusted) {
  const std::string guess(32, 'x');
  EXPECT_THAT(meet_server_that_says(plain_frame(
                  encode_handshake({.op = StoreOp::challenge, .strings = {guess, guess}}))),
              AllOf(StartsWith("invalid_argument: "), HasSubstr("it has another key")));
  EXPECT_THAT(meet_server_that_says(
                  plain_frame(encode_handshake({.op = StoreOp::challenge, .strings = {"", ""}}))),
              HasSubstr("it broke the protocol of the handshake"));
}

TEST_F(StoreConnectTest, AlteredFrameOfTheServerEndsTheConnection) {
  const BoundPort port;
  port.listen();
  StoreClientOptions client_options = options(3);
  client_options.address = port.address();
  auto connected = std::async(std::launch::async, [&] { return connect_store(client_options); });
  RawPeer server = port.accept();
  const auto hello = server.receive_handshake();
  ASSERT_TRUE(hello && hello->message);
  HandshakeFacts facts{.rank = 3, .job = "job-1", .client_nonce = {}, .server_nonce = {}};
  std::copy_n(hello->message->strings[1].begin(), 32, facts.client_nonce.begin());
  const Bytes32 proof = derive(key_, HandshakeRole::server_proof, facts);
  server.send(plain_frame(encode_handshake(
      {.op = StoreOp::challenge,
       .strings = {std::string(view_of(facts.server_nonce)), std::string(view_of(proof))}})));
  EXPECT_TRUE(server.receive_handshake());
  FrameSeal seal(derive(key_, HandshakeRole::session, facts), FrameDirection::to_client);
  const std::string welcome = seal.seal(encode_message({.op = StoreOp::welcome}));
  server.send(welcome);
  const auto store = connected.get();
  server.send(welcome);  // a replay
  EXPECT_THAT(error_of([&] { return store->get("a", kSoon); }),
              AllOf(StartsWith("peer_lost: "), HasSubstr("altered, replayed or out of order")));
}

}  // namespace
}  // namespace bp
