// Whether processes of this host reach each other.
#pragma once

#include <string>

namespace bp {

// Connects to loopback_address(). Returns "" if it succeeds within a second, else "processes of
// this host do not reach each other at 127.0.0.1: Network is unreachable".
[[nodiscard]] std::string loopback_problem();
inline constexpr const char* kLoopbackFix =
    "ip link set dev lo up, or let the firewall pass what comes from lo";

}  // namespace bp
