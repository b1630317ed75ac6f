// How bprun gets the agent of one host: plan/plan.h decides it, AgentLink carries it out.
#pragma once

#include <string>
#include <vector>

namespace bp::launcher {

struct AgentStart {
  bool local = true;                 // on this machine; a job's agent is then a fork of bprun
  std::string bprun;                 // the path of bprun on that host
  std::vector<std::string> command;  // that starts the agent
  bool srun = false;                 // `command` is srun, not ssh
  bool joined = false;               // the agent has joined by --join; there is no command
};

}  // namespace bp::launcher
