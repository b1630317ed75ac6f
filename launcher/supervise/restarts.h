// A whole job: one generation (supervisor.h) after another while --max-restarts allows it. Between
// two of them nothing of the job runs; what the program saved is all that goes from one to the
// next.
#pragma once

#include "launcher/cli/options.h"
#include "launcher/plan/plan.h"
#include "launcher/serve/joined_machines.h"

namespace bp::launcher {

// Returns bprun's exit code: that of the last generation, or of a stop that was asked for between
// two. Throws as Supervisor does.
// Machines that have come by themselves (machines.h) stay for one generation.
[[nodiscard]] int run_job(const Options& options,
                          const JobPlan& plan,
                          JoinedMachines machines = {});

// Whether a program that left with this code may do better the next time: not after a wrong option,
// file or program, nor when it was asked to save and did (75).
[[nodiscard]] bool may_heal(int exit_code);

}  // namespace bp::launcher
