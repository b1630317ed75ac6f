// The variables that each rank gets, and those that travel to other hosts. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bp/environment.h"
#include "launcher/hosts/placement.h"

namespace bp::launcher {

struct JobVariables {
  StoreAddress store;
  std::string master_address;  // of rank 0's host, for programs with a rendezvous of their own
  int master_port = 0;
  int generation = 0;
};

// RANK, WORLD_SIZE, LOCAL_RANK... and BP_STORE...: docs/bprun.md lists them. BP_JOB and BP_KEY_FD
// are the agent's to add.
[[nodiscard]] std::vector<std::string> rank_variables(const std::vector<PlacedHost>& placement,
                                                      int rank,
                                                      const JobVariables& job);

// Whether a variable of the user's goes to other hosts without being asked for; to one that has
// come by itself, from an environment of its own, only what bp reads.
[[nodiscard]] bool travels(std::string_view name, bool joined = false);

// What --env asks for: NAME=VALUE as it is, NAME with its value here (or not at all).
[[nodiscard]] std::vector<std::string> requested_variables(
    const std::vector<std::string>& requests, const std::vector<std::string>& environment);

// What of the user's environment `own` goes to a host: all of it, or what travels; and over that
// what --env asks for.
struct Sending {
  bool whole = false;
  bool joined = false;
};
[[nodiscard]] std::vector<std::string> sent_environment(const std::vector<std::string>& own,
                                                        const Sending& how,
                                                        const std::vector<std::string>& requests);

// OMP_NUM_THREADS for each host: cores of its machine, shared by all ranks there, at least 1.
// `machines` and `cores` are by host; hosts with an equal machine are on one.
struct HostCores {
  std::string machine;
  int cores = 1;
  int ranks = 0;
};
[[nodiscard]] std::vector<int> threads_per_rank(const std::vector<HostCores>& hosts);

}  // namespace bp::launcher
