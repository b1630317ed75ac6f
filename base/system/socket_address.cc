#include "base/system/socket_address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace bp {
namespace {

using AskSocket = int (*)(int, sockaddr*, socklen_t*);

SocketAddress end_of(int socket, AskSocket ask) {
  SocketAddress found;
  found.size = sizeof found.address;
  const bool known = ask(socket, reinterpret_cast<sockaddr*>(&found.address), &found.size) == 0;
  return known ? found : SocketAddress();
}

struct Numbers {
  std::string host;
  std::string port;
};

Numbers numbers_of(const SocketAddress& from) {
  char host[NI_MAXHOST] = {};
  char port[NI_MAXSERV] = {};
  const int family = from.address.ss_family;
  if ((family != AF_INET && family != AF_INET6) ||
      ::getnameinfo(from.get(), from.size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  return {.host = host, .port = port};
}

Fd try_to_listen(const SocketAddress& at) {
  Fd socket(::socket(at.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return socket;
  const int on = 1;
  const int off = 0;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (at.address.ss_family == AF_INET6) {
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  const bool listens = ::bind(socket.get(), at.get(), at.size) == 0 &&
                       ::listen(socket.get(), SOMAXCONN) == 0;  // the kernel limits the backlog
  return listens ? std::move(socket) : Fd();
}

}  // namespace

SocketAddress::SocketAddress(const void* bytes, std::size_t count)
    : size(static_cast<socklen_t>(count)) {
  std::memcpy(&address, bytes, count);
}

std::string SocketAddress::host() const {
  constexpr std::string_view kMapped = "::ffff:";
  std::string text = numbers_of(*this).host;
  return text.starts_with(kMapped) ? text.substr(kMapped.size()) : text;
}

int SocketAddress::port() const { return std::atoi(numbers_of(*this).port.c_str()); }

SocketAddress numeric_address(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return {};
  const SocketAddress first(found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  return first;
}

SocketAddress own_address(int socket) { return end_of(socket, &::getsockname); }

SocketAddress peer_address(int socket) { return end_of(socket, &::getpeername); }

std::string peer_name_of(int socket) {
  const SocketAddress peer = peer_address(socket);
  if (!peer) return "a peer that has disconnected";
  if (peer.address.ss_family == AF_UNIX) return "this machine";
  const std::string host = peer.host();
  return host.empty() ? "an unknown address" : host;
}

SocketAddress source_address(const SocketAddress& target) {
  // connect() on a datagram socket only consults the routing table.
  const Fd socket(::socket(target.address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const bool has_route = socket && ::connect(socket.get(), target.get(), target.size) == 0;
  return has_route ? own_address(socket.get()) : SocketAddress();
}

std::vector<InterfaceEntry> interface_entries() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  std::vector<InterfaceEntry> entries;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    InterfaceEntry& entry = entries.emplace_back();
    entry.name = at->ifa_name;
    entry.is_up = (at->ifa_flags & IFF_UP) != 0;
    const int family = at->ifa_addr == nullptr ? AF_UNSPEC : at->ifa_addr->sa_family;
    if (family == AF_INET) entry.address = {at->ifa_addr, sizeof(sockaddr_in)};
    if (family == AF_INET6) entry.address = {at->ifa_addr, sizeof(sockaddr_in6)};
  }
  return entries;
}

Fd listen_at(const std::string& host, int port) {
  for (const std::string& each :
       host.empty() ? std::vector<std::string>{"::", "0.0.0.0"} : std::vector{host}) {
    errno = EADDRNOTAVAIL;
    const SocketAddress at = numeric_address(each, std::to_string(port));
    Fd socket = at ? try_to_listen(at) : Fd();
    if (socket || errno == EADDRINUSE) return socket;
  }
  return {};
}

Fd start_connecting(const SocketAddress& to) {
  Fd socket(::socket(to.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const bool begun =
      socket && (::connect(socket.get(), to.get(), to.size) == 0 || errno == EINPROGRESS);
  return begun ? std::move(socket) : Fd();
}

int connecting_error(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace bp
