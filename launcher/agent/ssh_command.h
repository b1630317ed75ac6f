// The commands that start an agent on another host. Pure.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "launcher/hosts/host.h"

namespace bp::launcher {

// `ssh` is the user's --ssh in words. bprun's options follow the user's own; ssh takes the first of
// each, so the user's take precedence. A command that is not called ssh gets only -p and -l. The
// remote shell gets one quoted path and one option; everything else goes through stdin. ssh itself
// gives up a silent host three times `lost_after` later.
[[nodiscard]] std::vector<std::string> agent_command(const std::vector<std::string>& ssh,
                                                     const Host& host,
                                                     const std::string& remote_bprun,
                                                     std::chrono::milliseconds lost_after);

// Starts the agent as a step of the Slurm job that bprun runs in. The step may use all resources of
// the job on that host, beside other steps.
[[nodiscard]] std::vector<std::string> srun_command(const Host& host,
                                                    const std::string& remote_bprun);

}  // namespace bp::launcher
