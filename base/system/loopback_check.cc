#include "base/system/loopback_check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/system/fd.h"
#include "base/system/loopback.h"
#include "base/text.h"

namespace bp {

namespace {

constexpr int kLimit = 1000;  // milliseconds

}  // namespace

std::string loopback_problem() {
  const std::string text = loopback_address();
  sockaddr_in6 address =
      {};  // larger than sockaddr_in, whose family and port are in the same place
  address.sin6_family = text == "::1" ? AF_INET6 : AF_INET;
  if (text == "::1") {
    address.sin6_addr = in6addr_loopback;
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  }
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = text == "::1" ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  const Fd server(::socket(address.sin6_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Fd client(::socket(address.sin6_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  pollfd connected{.fd = client.get(), .events = POLLOUT, .revents = 0};
  int error = 0;
  socklen_t error_size = sizeof error;
  if (::bind(server.get(), generic, size) != 0 || ::listen(server.get(), 1) != 0 ||
      ::getsockname(server.get(), generic, &size) != 0 ||
      (::connect(client.get(), generic, size) != 0 && errno != EINPROGRESS)) {
    error = errno;
  } else if (::poll(&connected, 1, kLimit) != 1) {
    error = ETIMEDOUT;
  } else {
    ::getsockopt(client.get(), SOL_SOCKET, SO_ERROR, &error, &error_size);
  }
  return error == 0 ? ""
                    : concat("processes of this host do not reach each other at ", text, ": ",
                             error_text(error));
}

}  // namespace bp
