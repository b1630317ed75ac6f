// `bprun sweep` is a program of its own beside bprun, bprun-sweep, so that bprun does not load the
// libraries that it needs.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace bp::launcher {

// Replaces this process by bprun-sweep if the first word is "sweep". Otherwise returns nothing.
// Returns the exit code, after saying why, if the program cannot be run.
[[nodiscard]] std::optional<int> become_sweep(const std::vector<std::string>& arguments);

}  // namespace bp::launcher
