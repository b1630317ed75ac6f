#include "launcher/network/probe_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/hmac.h"
#include "base/text.h"
#include "launcher/protocol/timing.h"

namespace bp::launcher {
namespace {

// The limit on open connections. An agent asks as soon as it has connected, so the oldest
// connection without a question is not an agent's.
constexpr std::size_t kMostVisitors = 256;
constexpr auto kRetryAccept = 100ms;
constexpr int kFlags = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

// Listens on IPv6 and IPv4 if the host has both. Returns an empty descriptor if it cannot listen.
Fd listen_anywhere(int& port) {
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  sockaddr_in any4{};
  any4.sin_family = AF_INET;
  for (const bool v6 : {true, false}) {
    Fd socket(::socket(v6 ? AF_INET6 : AF_INET, kFlags, 0));
    auto* address = v6 ? reinterpret_cast<sockaddr*>(&any6) : reinterpret_cast<sockaddr*>(&any4);
    socklen_t size = v6 ? sizeof any6 : sizeof any4;
    const int off = 0;
    if (v6) {
      ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (socket && ::bind(socket.get(), address, size) == 0 &&
        ::listen(socket.get(), SOMAXCONN) == 0 &&
        ::getsockname(socket.get(), address, &size) == 0) {
      port = ntohs(v6 ? any6.sin6_port : any4.sin_port);
      return socket;
    }
  }
  return {};
}

}  // namespace

std::string probe_answer(const JobKey& key, int host, std::string_view question) {
  return std::string(view_of(Hmac(key)({"bprun probe ", std::to_string(host), " ", question})));
}

ProbeListener::ProbeListener(EventLoop& loop, int host, const JobKey& key)
    : loop_(loop), host_(host), key_(key), socket_(listen_anywhere(port_)) {
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
      visitors_.insert(visitors_.end(), {std::move(socket), std::move(from), "", 0});
  visitor->timer =
      loop_.after(kHandshake, [this, visitor] { refuse(visitor, "it asked nothing"); });
  loop_.watch(fd, POLLIN, [this, visitor](short) { read_some(visitor); });
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

void ProbeListener::read_some(Place visitor) {
  const int fd = visitor->socket.get();
  std::string& question = visitor->question;
  std::array<char, kProbeBytes> buffer{};
  const ssize_t got = ::read(fd, buffer.data(), kProbeBytes - question.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (got <= 0) {
    refuse(visitor, "it asked nothing and closed its connection");
    return;
  }
  question.append(buffer.data(), static_cast<std::size_t>(got));
  if (question.size() < kProbeBytes) {
    return;
  }
  // The answer fits any socket's buffer. A peer that does not take it gets no answer.
  static_cast<void>(write_all(fd, probe_answer(key_, host_, question).data(), kProbeBytes));
  leave(visitor);
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

}  // namespace bp::launcher
