// What bprun does beside starting jobs: `bprun doctor`, `bprun gpus`. A program of such a name can
// still be started, as ./doctor or after --.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace bp::launcher {

// Does what the first word names and returns bprun's exit code; nothing where it names no tool.
// Throws Error where a host list is wrong or the tool cannot be run at all.
[[nodiscard]] std::optional<int> run_tool(const std::vector<std::string>& arguments);

}  // namespace bp::launcher
