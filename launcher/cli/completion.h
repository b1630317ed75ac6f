// bprun --completion bash.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace bp::launcher {

// A script for bash, to be read by `source`: completes the options that `app` has, their values
// where they are words or files, and the program as if it stood alone.
[[nodiscard]] std::string bash_completion(const CLI::App& app);

}  // namespace bp::launcher
