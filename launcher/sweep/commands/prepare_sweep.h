// From the command line and SPACE to what the driver runs, with every check that needs no host.
#pragma once

#include <string>
#include <variant>

#include "launcher/sweep/commands/sweep_options.h"
#include "launcher/sweep/driver/sweep_settings.h"
#include "launcher/sweep/state/sweep_state.h"

namespace bp::launcher::sweep {

// Reads SPACE and plans the hosts. Throws invalid_argument for what contradicts itself, or io, or
// aborted if the descriptor `stop` has input while it waits for a program's answer.
[[nodiscard]] std::variant<SweepSettings, EarlyExit> prepare_sweep(const SweepOptions& options,
                                                                   int stop);

// Writes down what the sweep in this folder is about, or throws invalid_argument if the folder
// holds a sweep of another SPACE or program.
void check_same_sweep(SweepState& state, const SweepSettings& settings, const std::string& space);

}  // namespace bp::launcher::sweep
