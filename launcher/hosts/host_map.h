// Hosts as JSON: {"a": 3, "gpu[01-04]": {"slots": 2, "gpus": [0, 2], "port": 2222}, "c": null}. The
// hosts keep the order of the file; the fields are those of a hostfile.
#pragma once

#include <string>
#include <string_view>

#include "launcher/hosts/host.h"

namespace bp::launcher {

// Parses the text of a file. `name` is the file's name, for messages. Throws invalid_argument
// naming the file and the host.
[[nodiscard]] Hosts parse_host_map(std::string_view text, const std::string& name);

}  // namespace bp::launcher
