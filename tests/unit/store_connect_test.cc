// Tests how a client connects, and the errors if it cannot.
#include <future>
#include <memory>

#include "tests/unit/store_raw_peer.h"

namespace bp {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class StoreConnectTest : public StoreTest {
 protected:
  // Returns the error of connect_store() if the server answers hello with `answer`.
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

TEST_F(StoreConnectTest, ServerCanStartLate) {
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

TEST_F(StoreConnectTest, NoServerIsATimeoutThatSaysWhy) {
  const BoundPort port;
  StoreClientOptions alone = options(3);
  alone.address = port.address();
  alone.connect_timeout = 60ms;
  EXPECT_THAT(error_of([&] { return connect_store(alone); }),
              AllOf(StartsWith(concat("timeout: rank 3 cannot join the store ",
                                      alone.address.text(), ": timeout after 0.06 s and ")),
                    HasSubstr("Connection refused; is bprun running there, and does a firewall")));
}

TEST_F(StoreConnectTest, SilentServerIsATimeout) {
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
  EXPECT_THAT(text.get(), HasSubstr("is not a bp store"));
}

TEST_F(StoreConnectTest, UnknownHostIsNamed) {
  StoreClientOptions lost = options(3);
  lost.address = {.host = "no-such-host.invalid", .port = 1};
  lost.connect_timeout = 10ms;
  EXPECT_THAT(error_of([&] { return connect_store(lost); }),
              StartsWith("timeout: rank 3 cannot join the store no-such-host.invalid:1: "));
}

TEST_F(StoreConnectTest, ServerOfAnotherVersionIsReportedAtOnce) {
  EXPECT_THAT(meet_server_that_says(
                  plain_frame(encode_handshake({.op = StoreOp::refusal, .number = 1}, 7))),
              AllOf(StartsWith("invalid_argument: rank 3 cannot join the store 127.0.0.1:"),
                    HasSubstr("it speaks version 7 of the protocol, this program version 2")));
}

TEST_F(StoreConnectTest, UnknownRefusalIsReportedByItsNumber) {
  EXPECT_THAT(
      meet_server_that_says(plain_frame(encode_handshake({.op = StoreOp::refusal, .number = 9}))),
      AllOf(StartsWith("invalid_argument: rank 3 cannot join the store 127.0.0.1:"),
            EndsWith(": it refused for reason 9")));
}

TEST_F(StoreConnectTest, OtherServicesAreReportedAtOnce) {
  for (const char* answer : {"SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n"}) {
    EXPECT_THAT(meet_server_that_says(answer),
                AllOf(StartsWith("invalid_argument: "), HasSubstr("is not a bp store")));
  }
}

// docs/acceptance.md, Store: A client of the store with a wrong key is refused, and a store without
// the key is not trusted.
TEST_F(StoreConnectTest, ServerWithoutTheKeyIsNotTrusted) {
  const std::string guess(32, 'x');
  EXPECT_THAT(meet_server_that_says(plain_frame(
                  encode_handshake({.op = StoreOp::challenge, .strings = {guess, guess}}))),
              AllOf(StartsWith("invalid_argument: "), HasSubstr("it has another key")));
  EXPECT_THAT(meet_server_that_says(
                  plain_frame(encode_handshake({.op = StoreOp::challenge, .strings = {"", ""}}))),
              HasSubstr("it broke the protocol of the handshake"));
}

// A server that has accepted rank 3 and then sends what the test wants.
struct Host {
  RawPeer peer;
  FrameSeal seal;
  std::unique_ptr<Store> store;  // rank 3's
};

class HostTest : public StoreConnectTest {
 protected:
  Host let_in() {
    const BoundPort port;
    port.listen();
    StoreClientOptions client_options = options(3);
    client_options.address = port.address();
    client_options.answer_within = 100ms;
    auto connected = std::async(std::launch::async, [&] { return connect_store(client_options); });
    RawPeer peer = port.accept();
    const auto hello = peer.receive_handshake();
    HandshakeFacts facts{.rank = 3, .job = "job-1", .client_nonce = {}, .server_nonce = {}};
    std::copy_n(hello->message->strings[1].begin(), 32, facts.client_nonce.begin());
    const Bytes32 proof = derive(key_, HandshakeRole::server_proof, facts);
    peer.send(plain_frame(encode_handshake(
        {.op = StoreOp::challenge,
         .strings = {std::string(view_of(facts.server_nonce)), std::string(view_of(proof))}})));
    EXPECT_TRUE(peer.receive_handshake());
    FrameSeal seal(derive(key_, HandshakeRole::session, facts), FrameDirection::to_client);
    peer.send(seal.seal(encode_message({.op = StoreOp::welcome})));
    return {std::move(peer), std::move(seal), connected.get()};
  }
};

TEST_F(HostTest, ReplayedFrameOfTheServerEndsTheConnection) {
  Host host = let_in();
  const std::string frame = host.seal.seal(encode_message({.op = StoreOp::stop_requested}));
  host.peer.send(frame);
  host.peer.send(frame);
  EXPECT_THAT(error_of([&] { return host.store->get("a", kSoon); }),
              AllOf(StartsWith("peer_lost: "), HasSubstr("altered, replayed or out of order")));
  EXPECT_TRUE(host.store->stop_requested()) << "the first frame must count";
}

// docs/acceptance.md, Store: An incomplete message to or from the store has no effect.
TEST_F(HostTest, ServerThatEndsWithinAFrameIsLost) {
  Host host = let_in();
  auto wait = std::async(std::launch::async,
                         [&] { return error_of([&] { return host.store->get("a", kSoon); }); });
  const std::string frame =
      host.seal.seal(encode_message({.op = StoreOp::found, .id = 1, .strings = {"value"}}));
  host.peer.send(frame.substr(0, frame.size() - 1));
  host.peer.hang_up();
  EXPECT_THAT(wait.get(),
              AllOf(StartsWith("peer_lost: rank 3, get \"a\""), HasSubstr("is lost (")));
}

// docs/acceptance.md, Store: Calls to a store that is silent end at their deadline.
TEST_F(HostTest, SilentServerEndsCallsAtTheirDeadline) {
  Host host = let_in();
  EXPECT_THAT(error_of([&] { host.store->set("a", "1"); }),
              AllOf(StartsWith("timeout: rank 3, set \"a\" at the store 127.0.0.1:"),
                    EndsWith(": timeout: the server has not answered for 0.1 s; is its host "
                             "overloaded or cut off, or bprun stopped?")));
  EXPECT_THAT(error_of([&] { return host.store->get("a", 20ms); }),
              HasSubstr("get \"a\" at the store 127.0.0.1:"));
  EXPECT_THAT(error_of([&] { return host.store->get("a", 20ms); }),
              HasSubstr(": timeout after 0.02 s: the server has not answered for 0.1 s; "));
}

// docs/acceptance.md, Failures: Too few file descriptors are reported.
TEST_F(StoreConnectTest, MissingDescriptorIsReportedAtOnce) {
  const StoreClientOptions patient = options(3);
  const LimitedFiles limited(3);
  EXPECT_EQ(error_of([&] { return connect_store(patient); }),
            concat("io: rank 3 cannot join the store ", server_->address().text(),
                   ": Too many open files; raise the limit (ulimit -n)"));
}

}  // namespace
}  // namespace bp
