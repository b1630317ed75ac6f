// Finds hosts of a job that are one machine under several names. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/agent/ssh_command.h"
#include "launcher/protocol/agent_messages.h"

namespace bp::launcher {

// A host as the user named it, how its agent was started, and what the agent said.
struct GreetedHost {
  std::string name;
  AgentStart start = {};
  Hello hello = {};
};

// Returns for each such machine the names that lead to it, such as "h1, H1 are one machine (ada)".
// Only names that bprun reaches by ssh count: `-H localhost:2,127.0.0.1:1`, machines that joined
// and Slurm's hosts are meant as they are. Containers on one machine have names of their own.
[[nodiscard]] std::vector<std::string> names_of_one_machine(const std::vector<GreetedHost>& hosts);

}  // namespace bp::launcher
