#include "launcher/agent/join_handshake.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "comm/store/keepalive.h"
#include "launcher/agent/join_key.h"
#include "launcher/process/spawn.h"

namespace bp::launcher {

JoinHandshake::JoinHandshake(EventLoop& loop,
                             Fd socket,
                             const JobKey& key,
                             Listener listener,
                             std::chrono::milliseconds limit)
    : loop_(loop),
      socket_(std::move(socket)),
      handshake_(key, kJoinHandshake),
      listener_(std::move(listener)) {
  set_nonblocking(socket_.get());
  prepare_store_socket(socket_.get());
  loop_.watch(socket_.get(), POLLIN, [this](short) { read_some(); });
  timer_ = loop_.after(limit, [this] { refuse("it did not prove in time that it knows the key"); });
}

JoinHandshake::~JoinHandshake() {
  loop_.cancel(timer_);
  if (socket_) loop_.forget(socket_.get());
}

// Never reads beyond a frame: the bytes after the last one belong to the channel.
void JoinHandshake::read_some() {
  const FrameLimits limits{.body = kMaxHandshakeBody, .mac = 0};
  std::array<char, kFrameHeader + kMaxHandshakeBody> buffer{};
  const std::size_t wanted = next_frame(received_, limits).size - received_.size();
  const ssize_t got = ::recv(socket_.get(), buffer.data(), std::min(wanted, buffer.size()), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    refuse("it closed the connection before it proved that it knows the key");
    return;
  }
  received_.append(buffer.data(), static_cast<std::size_t>(got));
  const FrameView frame = next_frame(received_, limits);
  if (frame.state == FrameView::State::too_long) {
    refuse("it does not speak the protocol of bprun");
  } else if (frame.state == FrameView::State::complete) {
    const std::string body(frame.body);
    received_.clear();
    take(body);
  }
}

void JoinHandshake::take(std::string_view body) {
  const auto step = challenged_ ? handshake_.take_proof(body) : handshake_.take_hello(body);
  if (step.refusal) {
    send(plain_frame(encode_handshake(
        {.op = StoreOp::refusal, .number = static_cast<std::int64_t>(*step.refusal)})));
    refuse(*step.refusal == StoreRefusal::version ? "it has another version of bp"
                                                  : "it is not bprun --join");
  } else if (!step.problem.empty()) {
    refuse(step.problem);
  } else if (std::exchange(challenged_, true)) {
    admit();
  } else {
    send(step.frame);
  }
}

// The frame fits the empty send buffer of a new connection. If it does not, the peer cannot
// continue, and the time limit ends the handshake.
void JoinHandshake::send(const std::string& frame) {
  static_cast<void>(::send(socket_.get(), frame.data(), frame.size(), MSG_NOSIGNAL));
}

void JoinHandshake::refuse(const std::string& why) {
  loop_.cancel(timer_);
  loop_.forget(socket_.get());
  socket_.reset();
  const auto on_refused = std::move(listener_.on_refused);
  on_refused(why);
}

void JoinHandshake::admit() {
  loop_.cancel(timer_);
  loop_.forget(socket_.get());
  Channel::Ends ends;
  ends.out = Fd(::fcntl(socket_.get(), F_DUPFD_CLOEXEC, 3));
  ends.in = std::move(socket_);
  ends.await_magic = true;
  ends.seal = std::make_unique<SealedStream>(handshake_.session(), SealedStream::End::server);
  const auto on_admitted = std::move(listener_.on_admitted);
  on_admitted(std::move(ends));
}

}  // namespace bp::launcher
