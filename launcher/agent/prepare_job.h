// Prepares a host for the ranks of a job: enters the working directory, sets the umask, completes
// the environment and looks for the program.
#pragma once

#include <variant>

#include "launcher/process/program.h"
#include "launcher/protocol/agent_messages.h"

namespace bp::launcher {

// Changes this process's directory and umask unless the agent keeps its own (job.directory is
// empty), and completes job.environment. Returns the program, or why the job cannot start on this
// host.
[[nodiscard]] std::variant<Program, StartFailed> prepare_job(JobSpec& job);

}  // namespace bp::launcher
