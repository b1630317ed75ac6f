// What a launcher told this process by environment variables (docs/environment.md). No variable at
// all means a job of one rank.
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
  std::string launcher;  // "bprun"; an engine, "openmpi"; or "none" for a job of one rank
  std::string found_by;  // the variable that told: "OMPI_COMM_WORLD_RANK=1"; empty for "none"
  Topology topology;
  std::string job;                    // names the job in every handshake; may be empty for engines
  std::optional<StoreAddress> store;  // only bprun tells it
  JobKey key{};                       // likewise

  // Reads the variables of bprun, or else those of an engine that bp knows (docs/environment.md):
  // torchrun, Open MPI, MPICH, Slurm steps and others. Of an engine only rank and size are known
  // before the ranks have met (Communicator::create()); until then each counts as a host of its
  // own. BP_ENGINE=none ignores all of them, BP_ENGINE=NAME picks one. A set with a member missing
  // or contradicting is an invalid_argument that names the variable. The key behind the inherited
  // descriptor BP_KEY_FD is read with pread, so that every process of the rank can.
  static Environment current();
};

}  // namespace bp
