// The options that bprun and its tools share: which hosts, and how they are reached.
#pragma once

#include <CLI/CLI.hpp>

#include "launcher/cli/options.h"

namespace bp::launcher {

// Both must live until the command line is parsed.
void add_host_options(CLI::App& app, Options& options);

// After parsing. Throws invalid_argument where options contradict each other.
void check_host_options(const Options& options);

}  // namespace bp::launcher
