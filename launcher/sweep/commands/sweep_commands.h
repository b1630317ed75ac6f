// Carries out the commands of `bprun sweep`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/sweep/driver/sweep_settings.h"

namespace bp::launcher::sweep {

// `bprun sweep SPACE.yaml -- PROGRAM`: runs the sweep, or continues the one in its folder. Blocks
// until it has ended. Returns the exit code of Driver::run(), or 2 for wrong options. Throws Error.
[[nodiscard]] int run_sweep(const std::vector<std::string>& arguments);

// --dry-run: prints every trial and its command, as a table of lines or as JSON. A trial whose
// parameters depend on results is counted, not listed. Also prints how long the sweep will take, by
// the trials that have finished in its folder, or, if `estimate`, by a few steps of the first
// trial. Returns 0.
[[nodiscard]] int sweep_dry_run(const SweepSettings& settings, bool json, bool estimate);

// `bprun sweep status|best|report|stop|retry`: looks at a sweep, or asks a running one for
// something. Runs the command that the first word names. Returns the exit code; nothing if the word
// names none, so that it is SPACE. Throws Error.
[[nodiscard]] std::optional<int> run_subcommand(const std::vector<std::string>& arguments);

}  // namespace bp::launcher::sweep
