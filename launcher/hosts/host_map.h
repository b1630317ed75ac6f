// Hosts as JSON: {"a": 3, "gpu[01-04]": {"slots": 2, "gpus": [0, 2], "port": 2222}, "c": null}. The
// order counts; the fields are those of a hostfile.
#pragma once

#include <string>
#include <string_view>

#include "launcher/hosts/host.h"

namespace bp::launcher {

// `name` is the file's, for messages. Throws invalid_argument naming file and host.
[[nodiscard]] Hosts parse_host_map(std::string_view text, const std::string& name);

}  // namespace bp::launcher
