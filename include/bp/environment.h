// The job that environment variables describe to this process (docs/environment.md). Without any of
// them the job has one rank.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "bp/export.h"
#include "bp/topology.h"

namespace BP_API bp {

// 256 bits that only the processes of one job know.
using JobKey = std::array<unsigned char, 32>;

struct StoreAddress {
  std::string host;  // name or address; IPv6 without brackets
  int port = 0;
  [[nodiscard]] std::string text() const;  // "10.0.0.1:4711", "[::1]:4711"
};

struct Environment {
  std::string launcher;  // "bprun"; a launcher, "openmpi"; or "none" for a job of one rank
  std::string found_by;  // the variable that decided: "OMPI_COMM_WORLD_RANK=1"; empty for "none"
  Topology topology;
  std::string job;  // names the job in every handshake; may be empty for launchers
  std::optional<StoreAddress> store;  // from bprun only
  JobKey key{};                       // from bprun only

  // Reads the variables of bprun, or else those of a launcher that bp knows: torchrun, Open MPI,
  // MPICH, Slurm steps and others. A launcher tells only rank and size; until the ranks have met in
  // Communicator::create(), each rank counts as a host of its own. BP_ENGINE=none ignores all
  // launchers, and BP_ENGINE=NAME selects one. Throws invalid_argument, which names the variable,
  // if one is missing or contradicts another. The key comes from the inherited descriptor
  // BP_KEY_FD, with pread, so that every process of the rank can read it.
  static Environment current();
};

}  // namespace bp
