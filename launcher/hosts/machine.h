// Decides which of the hosts is the machine that runs this process, without connecting to any.
#pragma once

#include <set>
#include <string>

namespace bp::launcher {

// The names and numeric addresses of one machine.
struct Machine {
  std::set<std::string> names;      // lower case
  std::set<std::string> addresses;  // as inet_ntop writes them

  // Returns those of this machine: its host name with and without the domain, and the addresses of
  // its interfaces.
  static Machine own();

  // Returns whether `host` is this machine: localhost, 127.0.0.0/8, ::1, or one of its names or
  // addresses. Names are compared, not resolved, so an alias from ssh's configuration counts as
  // another host.
  [[nodiscard]] bool is(const std::string& host) const;
};

[[nodiscard]] bool is_loopback(const std::string& host);  // localhost, 127.0.0.0/8, ::1

// Returns the address of an interface of this machine, given by name, address or network ("eth0",
// "10.0.0.5", "10.0.0.0/8"). Throws invalid_argument listing the machine's interfaces.
[[nodiscard]] std::string interface_address(const std::string& interface);

// Returns the address of the interface through which packets to `host` would leave. Empty if that
// cannot be found, for example if the name service does not answer within 5 s. Blocks for at most
// that time. Sends nothing to the host.
[[nodiscard]] std::string address_towards(const std::string& host);

}  // namespace bp::launcher
