// "a:3,gpu[01-08]:4,u@b:1:port=2222,[fe80::1]:2,c": the notation of -H.
#pragma once

#include <string>

#include "launcher/hosts/host.h"

namespace bp::launcher {

// Each entry as parse_host_entry() has it. Throws invalid_argument naming the bad one.
[[nodiscard]] Hosts parse_host_list(const std::string& text);

}  // namespace bp::launcher
