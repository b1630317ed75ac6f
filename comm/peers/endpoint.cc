#include "comm/peers/endpoint.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

#include "base/hex.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

constexpr int kListenFlags = SOCK_CLOEXEC | SOCK_NONBLOCK;

void set_address(Endpoint& to, const void* address, std::size_t size) {
  std::memcpy(&to.address, address, size);
  to.size = static_cast<socklen_t>(size);
}

// Returns the first IPv4 address of the interface, or else its first IPv6 address.
Endpoint address_of_interface(const std::string& name) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw Error(ErrorCode::io, error_text(errno));
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  Endpoint found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || name != entry->ifa_name) continue;
    const bool v4 = entry->ifa_addr->sa_family == AF_INET;
    if (v4) set_address(found, entry->ifa_addr, sizeof(sockaddr_in));
    if (v4) return found;
    if (entry->ifa_addr->sa_family == AF_INET6 && found.size == 0) {
      set_address(found, entry->ifa_addr, sizeof(sockaddr_in6));
    }
  }
  if (found.size > 0) return found;
  throw Error(ErrorCode::invalid_argument,
              concat("the network interface '", name, "' has no address"));
}

Endpoint numeric_address(const std::string& host, const char* port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* info = nullptr;
  Endpoint found;
  if (::getaddrinfo(host.c_str(), port, &hints, &info) != 0) return found;
  set_address(found, info->ai_addr, info->ai_addrlen);
  ::freeaddrinfo(info);
  return found;
}

struct HostAndPort {
  std::string host;
  std::string port;
};

HostAndPort numbers_of(const Endpoint& at) {
  char host[NI_MAXHOST] = {};
  char port[NI_MAXSERV] = {};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&at.address), at.size, host, sizeof host, port,
                sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  return {.host = host, .port = port};
}

Listening listen_at(Endpoint at, const std::string& name) {
  Listening own{Fd(::socket(at.address.ss_family, at.socket_type() | kListenFlags, 0)), at};
  auto* const address = reinterpret_cast<sockaddr*>(&own.at.address);
  own.at.identity = random_bytes();
  // The kernel limits the backlog to net.core.somaxconn.
  if (!own.socket || ::bind(own.socket.get(), address, own.at.size) != 0 ||
      ::listen(own.socket.get(), SOMAXCONN) != 0) {
    const int error = errno;
    throw Error(ErrorCode::io,
                concat("cannot listen on ", name, ": ", error_text(error),
                       error == EMFILE || error == ENFILE ? "; raise the limit (ulimit -n)" : ""));
  }
  ::getsockname(own.socket.get(), address, &own.at.size);
  return own;
}

}  // namespace

std::string Endpoint::name() const {
  if (local()) return "this machine";
  const auto [host, port] = numbers_of(*this);
  return address.ss_family == AF_INET6 ? concat("[", host, "]:", port) : concat(host, ":", port);
}

std::string Endpoint::encode() const {
  if (!local()) {
    const auto [host, port] = numbers_of(*this);
    return concat("tcp ", to_hex(identity), " ", port, " ", host);
  }
  const auto* const name = reinterpret_cast<const sockaddr_un*>(&address)->sun_path + 1;
  const std::string text(name, size - offsetof(sockaddr_un, sun_path) - 1);
  return concat("unix ", to_hex(identity), " ", text);
}

std::optional<Endpoint> Endpoint::decode(std::string_view text) {
  const std::size_t kind = text.find(' ');
  const std::size_t id = kind == text.npos ? kind : text.find(' ', kind + 1);
  if (id == text.npos) return std::nullopt;
  const std::string_view rest = text.substr(id + 1);
  Endpoint found;
  if (text.starts_with("tcp ")) {
    const std::size_t port = rest.find(' ');
    if (port == rest.npos) return std::nullopt;
    found = numeric_address(std::string(rest.substr(port + 1)),
                            std::string(rest.substr(0, port)).c_str());
  } else if (sockaddr_un name{}; text.starts_with("unix ") && rest.size() < sizeof name.sun_path) {
    name.sun_family = AF_UNIX;
    rest.copy(name.sun_path + 1, rest.size());  // a NUL before it makes the name an abstract one
    set_address(found, &name, offsetof(sockaddr_un, sun_path) + 1 + rest.size());
  }
  if (found.size == 0 || !parse_hex(text.substr(kind + 1, id - kind - 1), found.identity)) {
    return std::nullopt;
  }
  return found;
}

Listening listen_tcp(const ListenOn& where) {
  const Endpoint at = where.interface.empty() ? numeric_address(where.address, "0")
                                              : address_of_interface(where.interface);
  if (at.size == 0) {
    throw Error(ErrorCode::invalid_argument,
                concat("'", where.address, "' is not a numeric address"));
  }
  return listen_at(at, concat(where.interface, where.address));
}

Listening listen_unix() {
  const std::string name = concat("bp-", to_hex(random_bytes()));
  const auto at = Endpoint::decode(concat("unix ", to_hex(Bytes32{}), " ", name));
  return listen_at(*at, "a Unix socket");
}

}  // namespace bp
