// How bprun gets the agent of one host, and the commands that start one on another host. Pure.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "launcher/hosts/host.h"

namespace bp::launcher {

// plan/job_plan.h decides it, AgentLink carries it out.
struct AgentStart {
  bool local = true;                 // on this machine; a job's agent is then a fork of bprun
  std::string bprun;                 // the path of bprun on that host
  std::vector<std::string> command;  // that starts the agent
  bool srun = false;                 // `command` is srun, not ssh
  bool joined = false;               // the agent has joined by --join; there is no command
};

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
