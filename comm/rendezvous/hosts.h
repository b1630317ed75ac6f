// Finds out which ranks share a host, from what each rank publishes about its own.
#pragma once

#include <span>
#include <string>

#include "bp/topology.h"

namespace bp {

struct HostIdentity {
  std::string host;       // equal for two ranks if and only if they can share memory
  std::string name = {};  // for messages
};

// Returns the identity of this process's host. `node` is the launcher's name of the host. A
// launcher may treat one machine as several nodes, which are then several hosts.
[[nodiscard]] HostIdentity own_host_identity(const std::string& node);

[[nodiscard]] std::string to_text(const HostIdentity& identity);
[[nodiscard]] HostIdentity parse_host_identity(const std::string& text);

// Returns the topology as rank `rank` sees it. ranks[r] is the host of rank r. Consecutive ranks
// with equal hosts form a host. If a launcher distributes consecutive ranks over hosts, each run of
// equal hosts counts as a host of its own, which is slower but correct.
[[nodiscard]] Topology topology_of(int rank, std::span<const HostIdentity> ranks);

}  // namespace bp
