// bprun --dry-run: what would be started, and how alike the hosts are.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/options.h"
#include "launcher/plan/plan.h"

namespace bp::launcher {

// Prints hosts, ranks, GPUs, commands, variables, and those that differ between hosts; asks the
// hosts for that by the agents of a job, but starts no rank. Returns 0, or 75 where a host was not
// reached.
[[nodiscard]] int dry_run(const JobPlan& plan, const Options& options);

// A variable that not all hosts have alike: its value by host, none where it is not set.
struct Difference {
  std::string name;
  std::map<std::string, std::optional<std::string>> values;
};

// Of the environments that a rank would have on each host. Variables of a login (SSH_CONNECTION,
// XDG_...) differ by nature and are left out. Pure.
[[nodiscard]] std::vector<Difference> environment_differences(
    const std::map<std::string, std::vector<std::string>>& environments);

}  // namespace bp::launcher
