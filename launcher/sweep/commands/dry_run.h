// `bprun sweep --dry-run`: the trials that a sweep would run.
#pragma once

#include "launcher/sweep/driver/sweep_settings.h"

namespace bp::launcher::sweep {

// Prints every trial and its command, as a table of lines or as JSON. A trial whose parameters
// depend on results is counted, not listed. Returns 0. Throws what make_sampler() throws.
[[nodiscard]] int sweep_dry_run(const SweepSettings& settings, bool json);

}  // namespace bp::launcher::sweep
