// Hostfiles have one host per line: "name slots=2 max_slots=4 gpus=0,2 iface=eth1 port=22 user=u  #
// note". The name may be a whole entry of -H, as in "u@gpu[01-08]:4".
#pragma once

#include <string>
#include <string_view>

#include "launcher/hosts/host.h"

namespace bp::launcher {

// Parses the text of a file. `name` is the file's name, for messages. Throws invalid_argument
// naming the file and the line.
[[nodiscard]] Hosts parse_hostfile(std::string_view text, const std::string& name);

}  // namespace bp::launcher
