// Launchers other than bprun: programs that start the ranks of a job. bp recognises a launcher by
// the variables that it sets.
#pragma once

#include <optional>
#include <string>

#include "comm/topology/variables.h"

namespace bp {

struct LaunchedRank {
  std::string launcher = {};  // its name for BP_ENGINE, "openmpi"
  std::string found_by = {};  // "OMPI_COMM_WORLD_RANK=1"
  int rank = 0;
  int size = 1;
  bool one_host = false;         // the launcher says so, or its master's address is loopback
  std::string node = {};         // the launcher's name of this host; empty if it has none
  std::string job = {};          // names the job among the user's jobs; empty if nothing does
  std::string master_host = {};  // MASTER_ADDR, or the launcher's variable for it; may be empty
  std::string master_port = {};  // MASTER_PORT, the same; empty if and only if master_host is
};

// Returns what the launcher that BP_ENGINE names says, or else the first launcher whose variables
// are set; nothing if there is no launcher or BP_ENGINE=none. Throws invalid_argument, with the
// variable, if one is missing or contradicts another, and with a list of the launchers if BP_ENGINE
// names none of them.
[[nodiscard]] std::optional<LaunchedRank> find_launcher(const Variables& variables);

// Returns whether srun started this process. For a batch script and salloc's shell it returns
// false, although SLURM_PROCID is set there and SLURM_STEP_ID may be.
[[nodiscard]] bool in_slurm_step(const Variables& variables);

// Returns "torchrun, openmpi, ...", in the order of the search.
[[nodiscard]] std::string launcher_names();

}  // namespace bp
