#include "comm/store/keepalive.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <limits>

namespace bp {
namespace {

using std::chrono::milliseconds;

constexpr int kTcpRtoMax = 44;  // TCP_RTO_MAX_MS of Linux 6.15; older headers lack it

int in_milliseconds(milliseconds time) {
  constexpr milliseconds::rep kMost = std::numeric_limits<int>::max();
  return static_cast<int>(std::min(time.count(), kMost));
}

}  // namespace

void prepare_store_socket(int fd, milliseconds silence) {
  const auto set = [fd](int level, int option, int value) {
    return ::setsockopt(fd, level, option, &value, sizeof(value)) == 0;
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 4);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);  // TCP_USER_TIMEOUT overrides it
  const bool resends_each_second = set(IPPROTO_TCP, kTcpRtoMax, 1'000);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT,
      in_milliseconds(resends_each_second ? silence : 2 * silence + milliseconds{2'000}));
}

}  // namespace bp
