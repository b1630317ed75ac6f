// The address by which processes of one host reach each other.
#pragma once

#include <string>

namespace bp {

// Returns "127.0.0.1", or "::1" on a host that has only that one.
[[nodiscard]] std::string loopback_address();

}  // namespace bp
