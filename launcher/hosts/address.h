// The addresses of a machine, and which of them others may be told. Pure but for own_addresses().
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>
#include <vector>

namespace bp::launcher {

struct InterfaceAddress {
  std::string interface;  // "eth0"
  std::string address;    // numeric
};

[[nodiscard]] std::vector<InterfaceAddress> own_addresses();  // of all interfaces

// The numeric form; empty for anything but IPv4 and IPv6.
[[nodiscard]] std::string numeric(const sockaddr* address);

// An address as bytes, 4 or 16, because one IPv6 address has many spellings; none where the text is
// no address.
[[nodiscard]] std::optional<std::vector<unsigned char>> address_bytes(const std::string& text);

// Writes that address and port as a socket takes them. Returns their size; 0 where `text` is no
// address.
[[nodiscard]] socklen_t socket_address(const std::string& text, int port, sockaddr_storage& into);

// Whether `wanted` names it: by interface, by address, or by a network that it is in (10.0.0.0/8).
[[nodiscard]] bool matches(const InterfaceAddress& own, const std::string& wanted);

// Whether `address` is in `network`, as 10.0.0.0/8; false where either is none.
[[nodiscard]] bool in_network(const std::string& address, const std::string& network);

// Those by which other hosts might reach it, the likeliest first: `seen` (the address that ssh came
// to; may be empty), then IPv4, then IPv6. Loopback and link-local ones are none. With `wanted`,
// only what that matches.
[[nodiscard]] std::vector<InterfaceAddress> candidates(const std::vector<InterfaceAddress>& all,
                                                       const std::string& seen,
                                                       const std::string& wanted);

// "eth0 10.0.0.1, eth1 10.1.0.1"; "none" for none
[[nodiscard]] std::string list_text(const std::vector<InterfaceAddress>& addresses);

}  // namespace bp::launcher
