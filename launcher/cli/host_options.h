// The options that bprun and its tools share: which hosts to use, and how to reach them.
#pragma once

#include <CLI/CLI.hpp>

#include "launcher/cli/options.h"

namespace bp::launcher {

// Adds them to `app`. Parsing writes into `options`, so both must live until then.
void add_host_options(CLI::App& app, Options& options);

// For after parsing. Throws invalid_argument if options contradict each other.
void check_host_options(const Options& options);

}  // namespace bp::launcher
