// Whether processes of this host reach each other.
#pragma once

#include <chrono>
#include <string>

namespace bp {

// Connects to loopback_address(). Returns that address and why the connection fails within `limit`;
// "" if it succeeds.
[[nodiscard]] std::string loopback_problem(std::chrono::milliseconds limit);

}  // namespace bp
