// Runs a whole job: one generation (supervisor.h) after another while --max-restarts allows it.
// Between two generations nothing of the job runs. Only what the program saved passes from one to
// the next.
#pragma once

#include "launcher/cli/bprun_options.h"
#include "launcher/plan/job_plan.h"
#include "launcher/serve/joined_machines.h"

namespace bp::launcher {

// Returns bprun's exit code: that of the last generation, or that of a signal between two
// generations. Throws what Supervisor throws. `machines` (joined_machines.h) stay for one
// generation. Blocks until the job has ended.
[[nodiscard]] int run_job(const Options& options,
                          const JobPlan& plan,
                          JoinedMachines machines = {});

// Whether a restart may help after a rank has ended with this code. It does not help against a
// wrong option, file or program, and 75 means that the program saved because it was asked to stop.
[[nodiscard]] bool restart_may_help(int exit_code);

}  // namespace bp::launcher
