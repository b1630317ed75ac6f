// Processes of a job that outlived their agent.
#pragma once

#include <string>

namespace bp::launcher {

// Kills the processes below this one that belong to `job`: they became children of bprun when their
// agent was killed. Leaves other children alone, such as the master process of a shared ssh
// connection.
void kill_orphans_of(const std::string& job);

}  // namespace bp::launcher
