#include "launcher/agent/listen.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/system/name_service.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {
namespace {

using AskSocket = int (*)(int, sockaddr*, socklen_t*);

struct Numeric {
  std::string host;
  std::string port;
};

Numeric numeric_of(int socket, AskSocket ask) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (ask(socket, generic, &size) != 0 ||
      ::getnameinfo(generic, size, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {"", "0"};
  }
  const std::string text = host.data();
  constexpr std::string_view kMapped = "::ffff:";
  return {.host = text.starts_with(kMapped) ? text.substr(kMapped.size()) : text,
          .port = port.data()};
}

// Empty if that fails, with errno.
Fd try_to_listen(const std::string& address, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    errno = EADDRNOTAVAIL;
    return {};
  }
  const Addresses owner(found, &::freeaddrinfo);
  Fd socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  const int off = 0;
  if (socket) {
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (found->ai_family == AF_INET6) {
      ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
  }
  const bool listens = socket && ::bind(socket.get(), found->ai_addr, found->ai_addrlen) == 0 &&
                       ::listen(socket.get(), SOMAXCONN) == 0;
  return listens ? std::move(socket) : Fd();
}

}  // namespace

Fd listen_at(const std::string& address, int port) {
  Fd socket = try_to_listen(address.empty() ? "::" : address, port);
  if (!socket && address.empty() && errno != EADDRINUSE) socket = try_to_listen("0.0.0.0", port);
  if (!socket) throw Error(ErrorCode::invalid_argument, error_text(errno));
  return socket;
}

Fd accept_waiting(int listener) { return Fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)); }

int port_of(int socket) { return std::stoi(numeric_of(socket, &::getsockname).port); }

std::string own_address_of(int socket) { return numeric_of(socket, &::getsockname).host; }

std::string peer_address_of(int socket) { return numeric_of(socket, &::getpeername).host; }

}  // namespace bp::launcher
