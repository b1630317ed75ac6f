#include "comm/peers/endpoint.h"

#include <sys/un.h>

#include <cerrno>
#include <cstddef>

#include "base/hex.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

constexpr int kListenFlags = SOCK_CLOEXEC | SOCK_NONBLOCK;

// Returns the first IPv4 address of the interface, or else its first IPv6 address.
SocketAddress address_of_interface(const std::string& name) {
  const auto entries = interface_entries();
  if (entries.empty()) throw Error(ErrorCode::io, error_text(errno));
  for (const int family : {AF_INET, AF_INET6}) {
    for (const InterfaceEntry& entry : entries) {
      if (entry.name == name && entry.address.address.ss_family == family) return entry.address;
    }
  }
  throw Error(ErrorCode::invalid_argument,
              concat("the network interface '", name, "' has no address"));
}

Listening make_listening(const SocketAddress& at, const std::string& name) {
  Listening own{.socket = {}, .at = {at, random_bytes()}};
  own.socket = Fd(::socket(at.address.ss_family, own.at.socket_type() | kListenFlags, 0));
  // The kernel limits the backlog to net.core.somaxconn.
  if (!own.socket || ::bind(own.socket.get(), at.get(), at.size) != 0 ||
      ::listen(own.socket.get(), SOMAXCONN) != 0) {
    const int error = errno;
    throw Error(ErrorCode::io,
                concat("cannot listen on ", name, ": ", error_text(error),
                       error == EMFILE || error == ENFILE ? "; raise the limit (ulimit -n)" : ""));
  }
  static_cast<SocketAddress&>(own.at) = own_address(own.socket.get());
  return own;
}

}  // namespace

std::string Endpoint::name() const {
  if (local()) return "this machine";
  return StoreAddress{.host = host(), .port = port()}.text();
}

std::string Endpoint::encode() const {
  if (!local()) return concat("tcp ", to_hex(identity), " ", port(), " ", host());
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
    found = {
        numeric_address(std::string(rest.substr(port + 1)), std::string(rest.substr(0, port)))};
  } else if (sockaddr_un name{}; text.starts_with("unix ") && rest.size() < sizeof name.sun_path) {
    name.sun_family = AF_UNIX;
    rest.copy(name.sun_path + 1, rest.size());  // a NUL before it makes the name an abstract one
    found = {SocketAddress(&name, offsetof(sockaddr_un, sun_path) + 1 + rest.size())};
  }
  if (!found || !parse_hex(text.substr(kind + 1, id - kind - 1), found.identity)) {
    return std::nullopt;
  }
  return found;
}

Listening listen_tcp(const ListenOn& where) {
  const SocketAddress at = where.interface.empty() ? numeric_address(where.address)
                                                   : address_of_interface(where.interface);
  if (!at) {
    throw Error(ErrorCode::invalid_argument,
                concat("'", where.address, "' is not a numeric address"));
  }
  return make_listening(at, concat(where.interface, where.address));
}

Listening listen_unix() {
  const std::string name = concat("bp-", to_hex(random_bytes()));
  const auto at = Endpoint::decode(concat("unix ", to_hex(Bytes32{}), " ", name));
  return make_listening(*at, "a Unix socket");
}

}  // namespace bp
