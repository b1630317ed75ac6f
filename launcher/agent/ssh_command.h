// The commands that start an agent on another host. Pure.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "launcher/hosts/host.h"

namespace bp::launcher {

// `ssh` is the user's --ssh in words. Our options follow the user's own, and ssh takes the first of
// each, so the user's win; a command that is not called ssh gets none but -p and -l. The remote
// shell sees one quoted path and one option; everything else goes through stdin. ssh itself gives
// up a host that is silent some time after `lost_after`.
[[nodiscard]] std::vector<std::string> agent_command(const std::vector<std::string>& ssh,
                                                     const Host& host,
                                                     const std::string& remote_bprun,
                                                     std::chrono::milliseconds lost_after);

// As a step of the Slurm job that bprun runs in, beside any other: with all that the job has there.
[[nodiscard]] std::vector<std::string> srun_command(const Host& host,
                                                    const std::string& remote_bprun);

}  // namespace bp::launcher
