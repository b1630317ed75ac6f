// The hosts that a batch system has given to the job in which bprun runs.
#pragma once

#include <optional>
#include <string>

#include "comm/topology/variables.h"
#include "launcher/hosts/host.h"

namespace bp::launcher {

struct Allocation {
  Hosts hosts;
  std::string found_by = {};  // "SLURM_JOB_NODELIST=n[1-2]"
  bool by_srun = false;       // true: srun starts the agents; false: ssh does
};

// Returns the allocation of the first of Slurm, PBS, LSF, SGE and the MPI Operator whose variables
// are set. Slurm's counts only where bprun is not itself a step of the job, as in the batch script
// or in salloc's shell. Returns nothing with BP_ENGINE=none. Throws invalid_argument naming the
// variable or file.
[[nodiscard]] std::optional<Allocation> find_allocation(const Variables& variables);

// Returns "2 hosts with 3 slots by SLURM_JOB_NODELIST=n[1-2]".
[[nodiscard]] std::string describe(const Allocation& allocation);

}  // namespace bp::launcher
