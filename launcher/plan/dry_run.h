// bprun --dry-run: shows what a job would start, and which variables differ between its hosts.
#pragma once

#include "launcher/cli/options.h"
#include "launcher/plan/plan.h"

namespace bp::launcher {

// Prints hosts, ranks, GPUs, commands and variables, and the variables that differ between hosts.
// Asks the hosts through agents as a job does, but starts no rank. Returns 0, or 75 if a host could
// not be reached. Blocks for at most --start-timeout.
[[nodiscard]] int dry_run(const JobPlan& plan, const Options& options);

}  // namespace bp::launcher
