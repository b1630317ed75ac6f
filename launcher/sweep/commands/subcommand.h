// `bprun sweep status|best|stop|retry`: looks at a sweep, or asks a running one for something.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace bp::launcher::sweep {

// Runs the command that the first word names. Returns the exit code; nothing if the word names
// none, so that it is SPACE. Throws Error.
[[nodiscard]] std::optional<int> run_subcommand(const std::vector<std::string>& arguments);

}  // namespace bp::launcher::sweep
