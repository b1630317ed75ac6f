#include "base/system/loopback.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/system/fd.h"

namespace bp {
namespace {

template <class Address>
bool can_listen_on(const Address& address, sa_family_t family) {
  const Fd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return socket &&
         ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

}  // namespace

// Where neither address exists, the first one appears in the error of who uses it.
std::string loopback_address() {
  sockaddr_in four = {};
  four.sin_family = AF_INET;
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (can_listen_on(four, AF_INET)) return "127.0.0.1";
  sockaddr_in6 six = {};
  six.sin6_family = AF_INET6;
  six.sin6_addr = in6addr_loopback;
  return can_listen_on(six, AF_INET6) ? "::1" : "127.0.0.1";
}

}  // namespace bp
