// The tools of bprun: `bprun doctor` and `bprun gpus`. To start a program of such a name, write
// ./doctor or put -- before it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace bp::launcher {

// Runs the tool that the first word names and returns bprun's exit code; nothing if it names no
// tool. Throws Error if a host list is wrong or the tool cannot run at all.
[[nodiscard]] std::optional<int> run_tool(const std::vector<std::string>& arguments);

}  // namespace bp::launcher
