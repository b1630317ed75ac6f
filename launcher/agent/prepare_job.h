// What a host does with a job before its ranks start: takes its working directory and umask, makes
// its environment, and looks for its program.
#pragma once

#include <variant>

#include "launcher/process/program.h"
#include "launcher/protocol/messages.h"

namespace bp::launcher {

// Changes this process's directory and umask, and completes job.environment. The program, or why
// the job cannot start here.
[[nodiscard]] std::variant<Program, StartFailed> prepare_job(JobSpec& job);

}  // namespace bp::launcher
