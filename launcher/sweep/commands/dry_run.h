// `bprun sweep --dry-run`: the trials that a sweep would run.
#pragma once

#include "launcher/sweep/driver/sweep_settings.h"

namespace bp::launcher::sweep {

// Prints every trial and its command, as a table of lines or as JSON. A trial whose parameters
// depend on results is counted, not listed. Also prints how long the sweep will take, by the trials
// that have finished in its folder, or, if `estimate`, by a few steps of the first trial. Returns
// 0.
[[nodiscard]] int sweep_dry_run(const SweepSettings& settings, bool json, bool estimate);

}  // namespace bp::launcher::sweep
