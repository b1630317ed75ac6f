// The variables that bprun sets for each rank, and those that it sends to other hosts. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bp/environment.h"
#include "launcher/hosts/placement.h"

namespace bp::launcher {

struct JobVariables {
  StoreAddress store;
  std::string master_address;  // of rank 0's host, for a program's own rendezvous
  int master_port = 0;
  int generation = 0;
};

// RANK, WORLD_SIZE, LOCAL_RANK... and BP_STORE...: docs/bprun.md lists them. The agent adds BP_JOB
// and BP_KEY_FD.
[[nodiscard]] std::vector<std::string> rank_variables(const std::vector<PlacedHost>& placement,
                                                      int rank,
                                                      const JobVariables& job);

// Whether bprun sends a variable of the user's to other hosts without --env. A host that joined has
// a user with an environment of their own, and gets only the variables that bp reads.
[[nodiscard]] bool travels(std::string_view name, bool joined = false);

// The variables of --env: NAME=VALUE as it is; NAME with its value in `environment`, if it has one.
[[nodiscard]] std::vector<std::string> requested_variables(
    const std::vector<std::string>& requests, const std::vector<std::string>& environment);

// Which part of the user's environment a host gets.
struct Sending {
  bool whole = false;   // all of it, not only what travels
  bool joined = false;  // the host has joined by --join
};
// The part of `own` that a host gets, with the variables of --env, which take precedence.
[[nodiscard]] std::vector<std::string> sent_environment(const std::vector<std::string>& own,
                                                        const Sending& how,
                                                        const std::vector<std::string>& requests);

// A host's machine, the cores that its agent may use, and its ranks. Hosts with equal `machine` are
// on one machine.
struct HostCores {
  std::string machine;
  int cores = 1;
  int ranks = 0;
};
// OMP_NUM_THREADS for each host: the cores of its machine divided by all ranks there, at least 1.
[[nodiscard]] std::vector<int> threads_per_rank(const std::vector<HostCores>& hosts);

}  // namespace bp::launcher
