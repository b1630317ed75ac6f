#include "base/system/loopback_check.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/system/fd.h"
#include "base/system/loopback.h"
#include "base/system/socket_address.h"
#include "base/text.h"

namespace bp {

namespace {

constexpr int kLimit = 1000;  // milliseconds

}  // namespace

std::string loopback_problem() {
  const std::string text = loopback_address();
  const SocketAddress any_port = numeric_address(text);
  const int family = any_port.address.ss_family;
  const Fd server(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // Strangers may connect as soon as the port is open. Where they fill a short backlog, the kernel
  // drops our own attempt and tries again after a second.
  const bool listens = ::bind(server.get(), any_port.get(), any_port.size) == 0 &&
                       ::listen(server.get(), SOMAXCONN) == 0;
  const Fd client = listens ? start_connecting(own_address(server.get())) : Fd();
  pollfd connected{.fd = client.get(), .events = POLLOUT, .revents = 0};
  const int error = !client                              ? errno
                    : ::poll(&connected, 1, kLimit) != 1 ? ETIMEDOUT
                                                         : connecting_error(client.get());
  return error == 0 ? ""
                    : concat("processes of this host do not reach each other at ", text, ": ",
                             error_text(error));
}

}  // namespace bp
