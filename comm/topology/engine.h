// Engines: what else than bprun starts processes that belong together, told by their variables.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "comm/topology/variables.h"

namespace bp {

struct EngineRank {
  std::string engine = {};    // "openmpi": what BP_ENGINE calls it
  std::string found_by = {};  // "OMPI_COMM_WORLD_RANK=1"
  int rank = 0;
  int size = 1;
  bool one_host = false;         // by the engine, or as its master is this host's loopback
  std::string node = {};         // this host in the engine's words; empty where it has none
  std::string job = {};          // names the job among the user's others; empty where nothing does
  std::string master_host = {};  // MASTER_ADDR and MASTER_PORT, or what the engine calls them; both
  std::string master_port = {};  // empty where the engine knows none
};

// The first engine whose variables are there, or the one that BP_ENGINE names. None: no engine, or
// BP_ENGINE=none. Throws invalid_argument naming the variable that is missing from an engine's set
// or contradicts another, or the engines where BP_ENGINE names none of them.
[[nodiscard]] std::optional<EngineRank> find_engine(const Variables& variables);

// Whether srun started this process. Not so for a batch script and for salloc's shell, though
// SLURM_PROCID is set there, and SLURM_STEP_ID may be.
[[nodiscard]] bool in_slurm_step(const Variables& variables);

// "torchrun, openmpi, ...", in the order in which they are looked for.
[[nodiscard]] std::string engine_names();

}  // namespace bp
