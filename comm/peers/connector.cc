#include "comm/peers/connector.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <asio/buffer.hpp>
#include <asio/read.hpp>

#include "base/text.h"

namespace bp {
namespace {

constexpr std::chrono::milliseconds kLongestPause{500};

constexpr const char* kClosed =
    "it closes connections during the handshake (has it another job's key?)";

bool may_pass(int error) {
  return error == EAGAIN || error == EINTR || error == ECONNRESET || error == ECONNABORTED ||
         error == ETIMEDOUT || error == EADDRNOTAVAIL;
}

}  // namespace

PeerConnector::PeerConnector(
    asio::io_context& io, int rank, const JobKey& key, const Endpoint& to, Owner owner)
    : rank_(rank),
      key_(key),
      to_(to),
      owner_(std::move(owner)),
      socket_(io),
      timer_(io),
      handshake_(key, to.identity) {}

void PeerConnector::start(std::chrono::milliseconds after, Limit limit) {
  limit_ = limit;
  if (limit) give_up_at_ = std::chrono::steady_clock::now() + after + *limit;
  after.count() > 0 ? try_after(after) : try_to_connect();
}

void PeerConnector::stop() {
  stopped_ = true;
  timer_.cancel();
  asio::error_code ignored;
  socket_.close(ignored);
}

void PeerConnector::try_after(std::chrono::milliseconds pause) {
  timer_.expires_after(pause);
  timer_.async_wait([self = shared_from_this()](asio::error_code cancelled) {
    if (!cancelled && !self->stopped_) self->try_to_connect();
  });
}

void PeerConnector::try_to_connect() {
  has_begun_ = true;
  Fd fd(::socket(to_.address.ss_family, to_.socket_type() | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) {
    fail(error_text(errno));
    return;
  }
  const int result = ::connect(fd.get(), to_.get(), to_.size);
  const int error = result == 0 ? 0 : errno;
  if (error != 0 && error != EINPROGRESS) {
    may_pass(error) ? try_again(error_text(error)) : fail(error_text(error));
    return;
  }
  socket_.assign(fd.release());
  if (error == 0) {
    connected();
    return;
  }
  wait_for_answer();
}

void PeerConnector::wait_for_answer() {
  socket_.async_wait(asio::posix::stream_descriptor::wait_write,
                     [self = shared_from_this()](asio::error_code cancelled) {
                       if (!cancelled && !self->stopped_) self->connected();
                     });
  awaits_answer_ = true;
  if (!limit_) return;
  timer_.expires_at(give_up_at_);
  timer_.async_wait([self = shared_from_this()](asio::error_code cancelled) {
    if (cancelled || self->stopped_ || !self->awaits_answer_) return;
    self->fail(concat("no answer within ", self->limit_->count(), " ms"));
  });
}

void PeerConnector::connected() {
  awaits_answer_ = false;
  timer_.cancel();
  if (const int error = connecting_error(socket_.native_handle()); error != 0) {
    may_pass(error) ? try_again(error_text(error)) : fail(error_text(error));
    return;
  }
  trouble_.clear();
  handshake_ = PeerHandshake(key_, to_.identity);
  if (send(handshake_.hello(rank_))) read(kPeerAnswer, [this] { take_answer(); });
}

template <class Then>
void PeerConnector::read(std::size_t size, Then then) {
  asio::async_read(socket_, asio::buffer(bytes_.data(), size),
                   [self = shared_from_this(), then](asio::error_code error, std::size_t) {
                     if (self->stopped_) return;
                     error ? self->try_again(kClosed) : then();
                   });
}

void PeerConnector::take_answer() {
  if (!handshake_.check_answer({bytes_.data(), kPeerAnswer})) {
    fail("it does not know the job's key");
  } else if (send(handshake_.proof())) {
    read(1, [this] { take_acceptance(); });
  }
}

void PeerConnector::take_acceptance() {
  if (bytes_[0] == kPeerNotNeeded) {
    stop();
    return;
  }
  if (bytes_[0] != kPeerAccepted) {
    fail("it broke the protocol of the handshake");
    return;
  }
  stopped_ = true;
  const auto self = shared_from_this();
  owner_.on_connected(Fd(socket_.release()));
}

// Never blocks: the empty buffer of a new connection has room for these bytes.
bool PeerConnector::send(const std::string& bytes) {
  const ssize_t sent =
      ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent == static_cast<ssize_t>(bytes.size())) return true;
  try_again(kClosed);
  return false;
}

// Pauses for a random time, so that many ranks that retry do not connect at the same time again.
void PeerConnector::try_again(const std::string& why) {
  trouble_ = why;
  if (limit_ && std::chrono::steady_clock::now() >= give_up_at_) {
    fail(why);
    return;
  }
  asio::error_code ignored;
  socket_.close(ignored);
  const auto half = pause_.count() / 2;
  std::uniform_int_distribution<std::chrono::milliseconds::rep> more(0, half);
  try_after(std::chrono::milliseconds(half + more(random_)));
  pause_ = std::min(2 * pause_, kLongestPause);
}

void PeerConnector::fail(const std::string& why) {
  const auto self = shared_from_this();
  stop();
  owner_.on_failure(why);
}

}  // namespace bp
