// The hosts that a batch system has given to the job in which bprun itself runs.
#pragma once

#include <optional>
#include <string>

#include "comm/topology/variables.h"
#include "launcher/hosts/host.h"

namespace bp::launcher {

struct Allocation {
  Hosts hosts;
  std::string found_by = {};  // "SLURM_JOB_NODELIST=n[1-2]"
  bool by_srun = false;       // srun starts agents on them; else ssh
};

// Of Slurm, PBS, LSF, SGE or the MPI Operator, the first whose variables are there; Slurm's also
// where bprun is no step of it, but in the batch script or in salloc's shell. None with
// BP_ENGINE=none. Throws invalid_argument naming the variable or file.
[[nodiscard]] std::optional<Allocation> find_allocation(const Variables& variables);

// "2 hosts with 3 slots by SLURM_JOB_NODELIST=n[1-2]"
[[nodiscard]] std::string describe(const Allocation& allocation);

}  // namespace bp::launcher
