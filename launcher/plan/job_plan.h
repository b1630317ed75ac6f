// Decides which ranks of a job run on which host, and how the agent of each host is started.
#pragma once

#include <set>
#include <string>
#include <variant>
#include <vector>

#include "launcher/agent/ssh_command.h"
#include "launcher/cli/bprun_options.h"
#include "launcher/hosts/placement.h"

namespace bp::launcher {

struct JobPlan {
  std::string program;     // as the user named it; empty for a tool, which starts none
  std::string allocation;  // the batch system's, described; empty: the user named the hosts
  std::vector<PlacedHost> placement;
  std::vector<AgentStart> hosts;   // one for each of `placement`
  std::vector<std::string> notes;  // for the user, each a line
  [[nodiscard]] bool all_local() const;
};

// Makes the plan of a job or tool. Reads the file of --hostfile or --hosts, and with --gpus asks
// the hosts for their GPUs. Blocks while hosts answer, for at most --start-timeout.
[[nodiscard]] std::variant<JobPlan, EarlyExit> make_plan(const Options& options);

// The same for a restart: looks the hosts up again and places the ranks on all of them except
// `without`. Places fewer ranks than -n, perhaps none, if that is what fits.
[[nodiscard]] std::variant<JobPlan, EarlyExit> make_plan_without(
    const Options& options, const std::set<std::string>& without);

}  // namespace bp::launcher
