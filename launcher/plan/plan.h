// What is going to be started where, decided before anything is.
#pragma once

#include <set>
#include <string>
#include <variant>
#include <vector>

#include "launcher/agent/agent_start.h"
#include "launcher/cli/options.h"
#include "launcher/hosts/placement.h"

namespace bp::launcher {

struct JobPlan {
  std::string program;     // as the user named it; empty for a tool, which starts none
  std::string allocation;  // whose hosts these are (hosts/allocation.h); empty: the user's words
  std::vector<PlacedHost> placement;
  std::vector<AgentStart> hosts;   // one for each of `placement`
  std::vector<std::string> notes;  // for the user, each a line
  [[nodiscard]] bool all_local() const;
};

// Reads the hosts file, if one is named, and asks the hosts for their GPUs if --gpus says so.
[[nodiscard]] std::variant<JobPlan, EarlyExit> make_plan(const Options& options);

// For a job that begins anew: looks its hosts up again, in the hosts file too, and places the ranks
// on all but those of `without`: fewer than -n where that is what fits, maybe none.
[[nodiscard]] std::variant<JobPlan, EarlyExit> make_plan_without(
    const Options& options, const std::set<std::string>& without);

}  // namespace bp::launcher
