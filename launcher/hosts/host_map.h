// Hosts as JSON: {"a": 3, "b": {"slots": 2, "gpus": [0, 2]}, "c": null}. The order counts.
#pragma once

#include <string>
#include <string_view>

#include "launcher/hosts/host.h"

namespace bp::launcher {

// `name` is the file's, for messages. Throws invalid_argument naming file and host.
[[nodiscard]] Hosts parse_host_map(std::string_view text, const std::string& name);

}  // namespace bp::launcher
