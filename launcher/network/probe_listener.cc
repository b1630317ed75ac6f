#include "launcher/network/probe_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "comm/base/hmac.h"
#include "comm/base/text.h"

namespace bp::launcher {
namespace {

constexpr std::size_t kMostVisitors = 1024;  // more at a time are turned away: strangers
constexpr int kFlags = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

// Of both families where the host has both. Empty where there is none to be had.
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
  if (socket_) {
    loop_.forget(socket_.get());
  }
  for (const auto& [fd, visitor] : visitors_) {
    loop_.forget(fd);
  }
}

void ProbeListener::accept_some() {
  Fd socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket || visitors_.size() >= kMostVisitors) {
    return;
  }
  const int fd = socket.get();
  visitors_[fd] = {std::move(socket), ""};
  loop_.watch(fd, POLLIN, [this, fd](short) { read_some(fd); });
}

void ProbeListener::read_some(int fd) {
  std::string& question = visitors_.at(fd).question;
  std::array<char, kProbeBytes> buffer{};
  const ssize_t got = ::read(fd, buffer.data(), kProbeBytes - question.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (got > 0) {
    question.append(buffer.data(), static_cast<std::size_t>(got));
    if (question.size() < kProbeBytes) {
      return;
    }
    // Fits any socket's buffer. Who does not take it learns nothing, which is his loss.
    static_cast<void>(write_all(fd, probe_answer(key_, host_, question).data(), kProbeBytes));
  }
  leave(fd);
}

void ProbeListener::leave(int fd) {
  loop_.forget(fd);
  visitors_.erase(fd);
}

}  // namespace bp::launcher
