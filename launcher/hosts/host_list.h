// "a:3,b:1,[fe80::1]:2,c": the notation of -H.
#pragma once

#include <string>

#include "launcher/hosts/host.h"

namespace bp::launcher {

// Throws invalid_argument naming the bad entry.
[[nodiscard]] Hosts parse_host_list(const std::string& text);

}  // namespace bp::launcher
