// bprun --completion bash.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace bp::launcher {

// Returns a script for bash that `source` reads. It completes the options of `app`, their values if
// they are words or files, and the program with its arguments as if they stood alone.
[[nodiscard]] std::string bash_completion(const CLI::App& app);

}  // namespace bp::launcher
