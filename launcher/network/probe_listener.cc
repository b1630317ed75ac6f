#include "launcher/network/probe_listener.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/keys/hmac.h"
#include "launcher/protocol/timing.h"

namespace bp::launcher {
namespace {

// The limit on open connections. An agent asks as soon as it has connected, so the oldest
// connection without a question is not an agent's.
constexpr std::size_t kMostVisitors = 256;
constexpr auto kRetryAccept = 100ms;
constexpr auto kMostExchange = 60s;  // longer than any round

}  // namespace

std::string probe_answer(const JobKey& key, int host, std::string_view question) {
  return std::string(view_of(Hmac(key)({"bprun probe ", std::to_string(host), " ", question})));
}

ProbeListener::ProbeListener(EventLoop& loop, int host, const JobKey& key)
    : loop_(loop), host_(host), key_(key), socket_(listen_at("", 0)) {
  if (socket_) {
    loop_.watch(socket_.get(), POLLIN, [this](short) { accept_some(); });
  }
}

ProbeListener::~ProbeListener() {
  loop_.cancel(pause_);
  if (socket_) {
    loop_.forget(socket_.get());
  }
  while (!visitors_.empty()) {
    leave(visitors_.begin());
  }
  refusals_.log_as("the listener of the network probe");
}

void ProbeListener::accept_some() {
  Fd socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) {
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
      pause();
    }
    return;
  }
  if (visitors_.size() >= kMostVisitors) {
    refuse(visitors_.begin(), "it asked nothing before many others came");
  }
  const int fd = socket.get();
  std::string from = peer_name_of(fd);
  const Place visitor =
      visitors_.insert(visitors_.end(), {std::move(socket), std::move(from), ProbeExchange(fd), 0});
  visitor->timer =
      loop_.after(kHandshake, [this, visitor] { refuse(visitor, "it asked nothing"); });
  loop_.watch(fd, POLLIN, [this, visitor](short events) { serve(visitor, events); });
}

// accept() failed, most likely for lack of descriptors. Closing the oldest connection may free one
// for an agent.
void ProbeListener::pause() {
  if (!visitors_.empty()) {
    refuse(visitors_.begin(), "no descriptor was left");
  }
  loop_.set_events(socket_.get(), 0);
  pause_ = loop_.after(kRetryAccept, [this] { loop_.set_events(socket_.get(), POLLIN); });
}

void ProbeListener::serve(Place visitor, short events) {
  ProbeExchange& exchange = visitor->exchange;
  if ((events & ~POLLOUT) != 0) {
    const long got = exchange.receive_some();
    const bool later = got < 0 && (errno == EAGAIN || errno == EINTR);
    if (got <= 0 && !later) {
      if (exchange.has_begun()) return leave(visitor);
      return refuse(visitor, "it asked nothing and closed its connection");
    }
  }
  if (!exchange.has_got_head()) return;
  if (!exchange.has_begun()) {
    exchange.begin(probe_answer(key_, host_, exchange.got_head()));
    loop_.cancel(visitor->timer);
    visitor->timer = loop_.after(kMostExchange, [this, visitor] { leave(visitor); });
  }
  const std::size_t most = exchange.got() >= kProbeAll ? kProbeAll + 1 : kProbeAll;
  if (!exchange.send_some(most) || exchange.sent() > kProbeAll) return leave(visitor);
  loop_.set_events(visitor->socket.get(),
                   static_cast<short>(exchange.sent() < most ? POLLIN | POLLOUT : POLLIN));
}

void ProbeListener::refuse(Place visitor, const std::string& why) {
  refusals_.add(visitor->from, why);
  leave(visitor);
}

void ProbeListener::leave(Place visitor) {
  loop_.cancel(visitor->timer);
  loop_.forget(visitor->socket.get());
  visitors_.erase(visitor);
}

// Without a delay the head travels in a packet of its own, which a small MTU lets pass.
ProbeExchange::ProbeExchange(int fd) : fd_(fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool ProbeExchange::send_some(std::size_t most) {
  static constexpr std::array<char, 4096> kFilling{};
  while (sent_ < most) {
    std::string_view part(kFilling.data(), std::min(kFilling.size(), most - sent_));
    if (sent_ < head_.size()) part = std::string_view(head_).substr(sent_);
    const ssize_t now = ::send(fd_, part.data(), part.size(), MSG_NOSIGNAL);
    if (now < 0) return errno == EAGAIN || errno == EINTR;
    sent_ += static_cast<std::size_t>(now);
  }
  return true;
}

long ProbeExchange::receive_some() {
  std::array<char, 16384> buffer{};
  const ssize_t now = ::read(fd_, buffer.data(), buffer.size());
  if (now <= 0) return now;
  const auto bytes = static_cast<std::size_t>(now);
  got_head_.append(buffer.data(), std::min(bytes, kProbeBytes - got_head_.size()));
  got_ += bytes;
  return now;
}

std::size_t ProbeExchange::progress() const {
  int queued = 0;
  ::ioctl(fd_, SIOCOUTQ, &queued);
  return got_ + sent_ - static_cast<std::size_t>(queued);
}

}  // namespace bp::launcher
