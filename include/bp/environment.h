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
  std::string launcher;  // "bprun", or "none" for a job of one rank
  Topology topology;
  std::string job;                    // names the job in every handshake; empty without launcher
  std::optional<StoreAddress> store;  // none: a job of one rank
  JobKey key{};

  // Reads RANK, WORLD_SIZE, BP_LOCAL_SIZES, BP_HOST_NAMES, BP_STORE, BP_JOB and the key behind the
  // inherited descriptor BP_KEY_FD (read with pread, so that every process of the rank can). A set
  // with a member missing or contradicting is an invalid_argument that names the variable; a
  // launcher that bp cannot join yet (mpirun, srun, torchrun) is `unavailable`.
  static Environment current();
};

}  // namespace bp
