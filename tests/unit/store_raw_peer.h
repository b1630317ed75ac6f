// One end of a store connection that can break the protocol.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/system/fd.h"
#include "comm/store/seal.h"
#include "comm/store/socket.h"
#include "comm/store/store_wire.h"
#include "tests/unit/store_fixture.h"

namespace bp {

class RawPeer {
 public:
  explicit RawPeer(const StoreAddress& address) {
    std::string why;
    socket_ = connect_tcp(address, Deadline(kSoon), why);
    EXPECT_TRUE(socket_) << why;
  }
  explicit RawPeer(Fd accepted) : socket_(std::move(accepted)) {}

  void send(std::string_view bytes) {
    std::string why;
    // The other side may have closed by now. Tests check what it did, so the result is ignored.
    static_cast<void>(send_all(socket_.get(), bytes, Deadline(kSoon), why));
  }

  void hang_up() { socket_.reset(); }

  // Returns the next frame, or nothing once the other side has closed.
  std::optional<std::string> receive_frame(const FrameLimits& limits) {
    std::string why;
    while (true) {
      const FrameView frame = next_frame(received_, limits);
      if (frame.state == FrameView::State::complete) {
        std::string whole = received_.substr(0, frame.size);
        received_.erase(0, frame.size);
        return whole;
      }
      if (!receive_some(socket_.get(), received_, Deadline(kSoon), why)) {
        return std::nullopt;
      }
    }
  }

  // Returns the body of the next handshake frame.
  std::optional<HandshakeBody> receive_handshake() {
    const auto frame = receive_frame({.body = kMaxHandshakeBody, .mac = 0});
    return frame ? decode_handshake(std::string_view(*frame).substr(kFrameHeader)) : std::nullopt;
  }

  // Returns the next sealed frame whose message is an `op`, and skips the ones before it.
  std::string receive_sealed(StoreOp op) {
    while (const auto frame = receive_frame({.body = kMaxStoreBody, .mac = kFrameMac})) {
      const auto body = std::string_view(*frame).substr(0, frame->size() - kFrameMac);
      const auto message = decode_message(body.substr(kFrameHeader));
      if (message && message->op == op) {
        return *frame;
      }
    }
    ADD_FAILURE() << "the connection ended";
    return {};
  }

  // Returns the message in the next sealed frame.
  StoreMessage receive_message() {
    const auto frame = receive_frame({.body = kMaxStoreBody, .mac = kFrameMac});
    const auto message = frame ? decode_message(std::string_view(*frame).substr(
                                     kFrameHeader, frame->size() - kFrameHeader - kFrameMac))
                               : std::nullopt;
    EXPECT_TRUE(message) << "the connection ended, or the message is malformed";
    return message.value_or(StoreMessage{});
  }

  // Returns whether the other side closes, whatever it sends before that.
  bool is_closed() {
    std::string why;
    while (receive_some(socket_.get(), received_, Deadline(kSoon), why)) {
      received_.clear();
    }
    return why != "no answer";
  }

  [[nodiscard]] std::string hello(int rank, const std::string& job = "job-1") {
    facts_ = {.rank = rank, .job = job, .client_nonce = random_bytes(), .server_nonce = {}};
    return plain_frame(
        encode_handshake({.op = StoreOp::hello,
                          .number = rank,
                          .strings = {job, std::string(view_of(facts_.client_nonce))}}));
  }

  // Sends hello and returns the server's proof.
  std::string meet(int rank) {
    send(hello(rank));
    const auto challenge = receive_handshake();
    if (!challenge || !challenge->message || challenge->message->op != StoreOp::challenge) {
      ADD_FAILURE() << "the server sent no challenge";
      return {};
    }
    const auto& strings = challenge->message->strings;
    std::copy_n(strings[0].begin(), facts_.server_nonce.size(), facts_.server_nonce.begin());
    return strings[1];
  }

  [[nodiscard]] static std::string proof(std::string_view bytes) {
    return plain_frame(encode_handshake({.op = StoreOp::proof, .strings = {std::string(bytes)}}));
  }

  // Runs the whole handshake. Returns the frame with the proof.
  std::string join(const JobKey& key, int rank) {
    meet(rank);
    const std::string frame = proof(view_of(derive(key, HandshakeRole::client_proof, facts_)));
    send(frame);
    outgoing_.emplace(derive(key, HandshakeRole::session, facts_), FrameDirection::to_server);
    receive_sealed(StoreOp::welcome);
    return frame;
  }

  [[nodiscard]] std::string sealed(const StoreMessage& message) {
    return outgoing_->seal(encode_message(message));
  }

  [[nodiscard]] const HandshakeFacts& facts() const { return facts_; }

 private:
  Fd socket_;
  std::string received_;
  HandshakeFacts facts_;
  std::optional<FrameSeal> outgoing_;
};

// A socket bound to a free port of loopback. While it does not listen, a server can listen on the
// port.
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

}  // namespace bp
