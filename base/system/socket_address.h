// Addresses of sockets: read from numeric text and written as that, of the two ends of a socket,
// and of this machine's interfaces.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "base/system/fd.h"

namespace bp {

struct SocketAddress {
  sockaddr_storage address{};
  socklen_t size = 0;  // 0: no address

  SocketAddress() = default;
  SocketAddress(const void* bytes, std::size_t count);

  [[nodiscard]] explicit operator bool() const { return size > 0; }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  // Numeric: "10.0.0.7", "fe80::1%eth0"; an IPv4 address has this form on an IPv6 socket too. Empty
  // for other families.
  [[nodiscard]] std::string host() const;
  [[nodiscard]] int port() const;  // 0 for other families
};

// Returns no address if `host` is not a numeric address or `port` is not a number. Asks no name
// service.
[[nodiscard]] SocketAddress numeric_address(const std::string& host, const std::string& port = "0");

// Return the address of this end of a socket, and of the other; none if the socket has none.
[[nodiscard]] SocketAddress own_address(int socket);
[[nodiscard]] SocketAddress peer_address(int socket);
// Returns the peer's numeric address, or "this machine" for a Unix socket.
[[nodiscard]] std::string peer_name_of(int socket);

// Returns the address from which packets to `target` would leave; none, with errno, if there is no
// route. Sends nothing.
[[nodiscard]] SocketAddress source_address(const SocketAddress& target);

struct InterfaceEntry {
  std::string name;  // "eth0"
  bool is_up = false;
  SocketAddress address;  // none if it is neither IPv4 nor IPv6
};
// Returns an entry for each address of each interface; none, with errno, if that fails.
[[nodiscard]] std::vector<InterfaceEntry> interface_entries();

// Listens at a numeric address, nonblocking; at all addresses, IPv6 included if the machine has it,
// if `host` is empty. Port 0 takes any free port. Returns an empty Fd, with errno, if that fails.
[[nodiscard]] Fd listen_at(const std::string& host, int port);

// Begins to connect, nonblocking. Returns an empty Fd, with errno, if that fails at once.
[[nodiscard]] Fd start_connecting(const SocketAddress& to);
// Returns how connecting has ended, once the socket is writable: 0, or the error.
[[nodiscard]] int connecting_error(int socket);

}  // namespace bp
