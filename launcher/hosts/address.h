// The addresses of a machine, and which of them other hosts may be able to reach. Pure except for
// own_addresses().
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace bp::launcher {

struct InterfaceAddress {
  std::string interface;  // "eth0"
  std::string address;    // numeric
};

[[nodiscard]] std::vector<InterfaceAddress> own_addresses();  // of all interfaces, without scopes

// Returns an address as 4 or 16 bytes, because one IPv6 address has many spellings; nothing if the
// text is not an address.
[[nodiscard]] std::optional<std::vector<unsigned char>> address_bytes(const std::string& text);

// Returns whether `wanted` names this address: by its interface, by the address, or by a network
// that contains it (10.0.0.0/8).
[[nodiscard]] bool matches(const InterfaceAddress& own, const std::string& wanted);

// Returns whether `address` is in `network`, written as 10.0.0.0/8; false if either cannot be
// parsed.
[[nodiscard]] bool in_network(const std::string& address, const std::string& network);

// Returns the addresses by which other hosts may reach this machine, the likeliest first: `seen`
// (the address to which ssh connected; may be empty), then IPv4, then IPv6. Loopback and link-local
// addresses are left out. If `wanted` is not empty, only addresses that it matches are returned.
[[nodiscard]] std::vector<InterfaceAddress> candidates(const std::vector<InterfaceAddress>& all,
                                                       const std::string& seen,
                                                       const std::string& wanted);

// Returns "eth0 10.0.0.1, eth1 10.1.0.1"; "none" for an empty list.
[[nodiscard]] std::string list_text(const std::vector<InterfaceAddress>& addresses);

}  // namespace bp::launcher
