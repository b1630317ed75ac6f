// Which of the hosts is the machine that we run on. No connection leaves it to find out.
#pragma once

#include <set>
#include <string>

namespace bp::launcher {

// Names and numeric addresses of one machine.
struct Machine {
  std::set<std::string> names;      // lower case
  std::set<std::string> addresses;  // as inet_ntop writes them

  // This one: its host name with and without domain, and the addresses of its interfaces.
  static Machine own();

  // localhost, 127.0.0.0/8, ::1, one of the names, or one of the addresses. Names are compared, not
  // resolved: an alias of ssh's configuration is another host.
  [[nodiscard]] bool is(const std::string& host) const;
};

[[nodiscard]] bool is_loopback(const std::string& host);  // localhost, 127.0.0.0/8, ::1

// The address of an interface given by name, address or network ("eth0", "10.0.0.5", "10.0.0.0/8").
// Throws invalid_argument listing those there are.
[[nodiscard]] std::string interface_address(const std::string& interface);

// Of the interface by which packets to `host` would leave; empty where that cannot be found out, as
// when the name service is silent for 5 s. Sends nothing to the host.
[[nodiscard]] std::string address_towards(const std::string& host);

}  // namespace bp::launcher
