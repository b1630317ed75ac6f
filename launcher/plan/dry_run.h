// bprun --dry-run: shows what a job would start, and which variables differ between its hosts.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/bprun_options.h"
#include "launcher/plan/job_plan.h"

namespace bp::launcher {

// A variable that not all hosts have with the same value. `values` is by host; unset where the host
// does not have the variable.
struct Difference {
  std::string name;
  std::map<std::string, std::optional<std::string>> values;
};

// Compares the environments that a rank would have on each host. Pure. Leaves out variables of a
// login (SSH_CONNECTION, XDG_...), which always differ.
[[nodiscard]] std::vector<Difference> environment_differences(
    const std::map<std::string, std::vector<std::string>>& environments);

// Prints hosts, ranks, GPUs, commands and variables, and the variables that differ between hosts.
// Asks the hosts through agents as a job does, but starts no rank. Returns 0, or 75 if a host could
// not be reached. Blocks for at most --start-timeout.
[[nodiscard]] int dry_run(const JobPlan& plan, const Options& options);

}  // namespace bp::launcher
