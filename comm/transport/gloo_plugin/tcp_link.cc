#include "comm/transport/gloo_plugin/tcp_link.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>

namespace bp::gloo_plugin {

// Without TCP_USER_TIMEOUT: that also ends a connection whose peer answers but reads nothing, such
// as a rank that Ctrl-Z has stopped.
void keep_alive(int fd) {
  const auto set = [fd](int level, int option, int value) {
    ::setsockopt(fd, level, option, &value, sizeof(value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 4);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 3);
  set(IPPROTO_TCP, TCP_KEEPCNT, 127);
}

LinkState link_state(int fd) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  int queued = 0;
  int unsent = 0;
  ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size);
  ::ioctl(fd, SIOCOUTQ, &queued);
  ::ioctl(fd, SIOCOUTQNSD, &unsent);
  return {.acknowledged = info.tcpi_bytes_acked,
          .arrived = info.tcpi_segs_in,
          .in_flight = static_cast<std::uint64_t>(std::max(queued - unsent, 0)),
          .unanswered = info.tcpi_probes};
}

}  // namespace bp::gloo_plugin
