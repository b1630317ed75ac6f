// What the hosts of a job are told before its ranks start: JobSpec. It takes this process's
// environment, directory, umask and limits, because they travel; else pure.
#pragma once

#include <string>
#include <vector>

#include "bp/environment.h"
#include "launcher/cli/options.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/messages.h"

namespace bp::launcher {

// What is known of the hosts of `plan` once all have said hello, in its order.
struct KnownHosts {
  const JobPlan& plan;
  std::vector<Hello> hellos;
  std::vector<std::string> addresses;  // Reach::addresses
};

// The address of this machine for the others: that which they all reach; where that was not looked
// for, what was asked for, what another host's ssh connection came from, or the interface that
// leads there.
[[nodiscard]] std::string address_of_launcher(const KnownHosts& hosts,
                                              const std::string& interface);

struct JobSettings {
  std::string job;
  int generation = 0;
  JobKey key{};
  StoreAddress store;
  int live_columns = 0;  // of the terminal line that rank 0 may redraw; 0: there is none
};

// One for each host.
[[nodiscard]] std::vector<JobSpec> make_job_specs(const KnownHosts& hosts,
                                                  const Options& options,
                                                  const JobSettings& settings);

}  // namespace bp::launcher
