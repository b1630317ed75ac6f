// Which ranks are on one host, once each has told the others where it is.
#pragma once

#include <span>
#include <string>

#include "bp/topology.h"

namespace bp {

struct HostIdentity {
  std::string host;  // the same for ranks that can share memory, and for no others
  std::string name;  // for messages
};

// Of this process; `node` is what its engine calls the host, which may make two of one machine.
[[nodiscard]] HostIdentity own_host_identity(const std::string& node);

[[nodiscard]] std::string to_text(const HostIdentity& identity);
[[nodiscard]] HostIdentity parse_host_identity(const std::string& text);

// `ranks`: one for each rank. Neighbours on one host are its ranks; where an engine numbers ranks
// in turns around the hosts, each run of neighbours counts as a host of its own, which is slower
// but right.
[[nodiscard]] Topology topology_of(int rank, std::span<const HostIdentity> ranks);

}  // namespace bp
