// The notation of -H: "a:3,gpu[01-08]:4,u@b:1:port=2222,[fe80::1]:2,c".
#pragma once

#include <string>

#include "launcher/hosts/host.h"

namespace bp::launcher {

// Parses a list of entries, each in the form of parse_host_entry(). Throws invalid_argument naming
// the bad entry.
[[nodiscard]] Hosts parse_host_list(const std::string& text);

}  // namespace bp::launcher
