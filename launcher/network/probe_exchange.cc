#include "launcher/network/probe_exchange.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace bp::launcher {

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
