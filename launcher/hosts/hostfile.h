// Hostfiles: a line a host, "name slots=2 max_slots=4 gpus=0,2 iface=eth1 port=22 user=u  # note".
// The name may be all that -H takes: "u@gpu[01-08]:4".
#pragma once

#include <string>
#include <string_view>

#include "launcher/hosts/host.h"

namespace bp::launcher {

// `name` is the file's, for messages. Throws invalid_argument naming file and line.
[[nodiscard]] Hosts parse_hostfile(std::string_view text, const std::string& name);

}  // namespace bp::launcher
