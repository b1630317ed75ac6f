// Makes the JobSpec that each host of a job gets before its ranks start. Reads this process's
// environment, directory, umask and limits, because they travel to the hosts; otherwise pure.
#pragma once

#include <string>
#include <vector>

#include "bp/environment.h"
#include "launcher/cli/bprun_options.h"
#include "launcher/plan/job_plan.h"
#include "launcher/protocol/agent_messages.h"

namespace bp::launcher {

// The hosts of `plan` once all have said hello, in the plan's order.
struct KnownHosts {
  const JobPlan& plan;
  std::vector<Hello> hellos;
  std::vector<std::string> addresses;  // Reach::addresses
};

// This machine's address for the other hosts: the one that the network probe found; without a probe
// that of `interface`, else the one from which another host's ssh connection came, else that of the
// interface that leads to a host.
[[nodiscard]] std::string address_of_launcher(const KnownHosts& hosts,
                                              const std::string& interface);

struct JobSettings {
  std::string job;
  int generation = 0;
  JobKey key{};
  StoreAddress store;
  int live_columns = 0;  // width of the terminal line that rank 0 may redraw; 0: no terminal
};

// Returns one JobSpec for each host.
[[nodiscard]] std::vector<JobSpec> make_job_specs(const KnownHosts& hosts,
                                                  const Options& options,
                                                  const JobSettings& settings);

}  // namespace bp::launcher
