#include "launcher/agent/liveness_check.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/system/socket_address.h"
#include "base/text.h"
#include "launcher/protocol/timing.h"

namespace bp::launcher {
namespace {

constexpr std::uint64_t kSignId = 1;

}  // namespace

LivenessCheck::LivenessCheck(EventLoop& loop,
                             const LivenessTarget& target,
                             std::uint64_t sign,
                             std::function<void(const std::string&)> done)
    : loop_(loop),
      target_(target),
      sign_(sign),
      done_(std::move(done)),
      handshake_(target.key, target.job, -1) {
  // Not from the constructor: `done` may need the owner to be complete.
  timer_ = loop_.after(0ms, [this] {
    timer_ = loop_.after(kCheckLimit, [this] {
      end(state_ == State::connecting ? "no answer" : "a connection, but no answer");
    });
    connect();
  });
}

LivenessCheck::~LivenessCheck() {
  loop_.cancel(timer_);
  if (socket_) {
    loop_.forget(socket_.get());
  }
}

void LivenessCheck::connect() {
  const SocketAddress to = numeric_address(target_.store.host, std::to_string(target_.store.port));
  if (!to) return end("that is not an address");
  socket_ = start_connecting(to);
  if (!socket_) return end(error_text(errno));
  loop_.watch(socket_.get(), POLLOUT, [this](short) { advance(); });
}

void LivenessCheck::advance() { state_ == State::connecting ? greet() : receive(); }

void LivenessCheck::greet() {
  const int error = connecting_error(socket_.get());
  if (error != 0) return end(error_text(error));
  state_ = State::greeting;
  loop_.set_events(socket_.get(), POLLIN);
  send(handshake_.hello());
}

void LivenessCheck::receive() {
  std::array<char, 4096> buffer{};
  const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (got <= 0) {
    end(got < 0 ? error_text(errno) : "the other side closed the connection");
    return;
  }
  received_.append(buffer.data(), static_cast<std::size_t>(got));
  while (!ended()) {
    const FrameLimits limits =
        state_ == State::greeting ? FrameLimits{} : FrameLimits{kMaxStoreBody, kFrameMac};
    const FrameView frame = next_frame(received_, limits);
    if (frame.state == FrameView::State::incomplete) {
      return;
    }
    if (frame.state == FrameView::State::too_long) {
      end("what answers there is no store");
      return;
    }
    const std::size_t size = frame.size;
    state_ == State::greeting ? take_challenge(frame) : take_answer(frame);
    received_.erase(0, size);
  }
}

void LivenessCheck::take_challenge(const FrameView& frame) {
  const auto body = decode_handshake(frame.body);
  const auto step = body ? handshake_.take_challenge(*body) : ClientHandshake::Step{.broken = true};
  if (step.refusal || step.broken || step.other_key) {
    end("the store of another job answers there");
    return;
  }
  incoming_.emplace(handshake_.session(), FrameDirection::to_client);
  FrameSeal outgoing(handshake_.session(), FrameDirection::to_server);
  state_ = State::signing;
  send(step.frame + outgoing.seal(encode_message({.op = StoreOp::set,
                                                  .id = kSignId,
                                                  .strings = {concat(kHostAliveKeys, target_.host),
                                                              std::to_string(sign_)}})));
}

void LivenessCheck::take_answer(const FrameView& frame) {
  const bool genuine = incoming_->accept(frame.body, frame.mac);
  const auto message = genuine ? decode_message(frame.body) : std::nullopt;
  if (!message) {
    end("a frame was altered, replayed or out of order");
  } else if (message->op == StoreOp::done && message->id == kSignId) {
    end("");
  }
}

// The bytes fit the empty send buffer of a new connection. If they do not, no answer comes, and the
// check fails by its time limit.
void LivenessCheck::send(const std::string& bytes) {
  static_cast<void>(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

void LivenessCheck::end(const std::string& problem) {
  loop_.cancel(timer_);
  if (socket_) {
    loop_.forget(socket_.get());
    socket_.reset();
  }
  std::exchange(done_, {})(problem);
}

}  // namespace bp::launcher
