#include "comm/rendezvous/hosts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "base/text.h"

namespace bp {

HostIdentity own_host_identity(const std::string& node) {
  std::array<char, 256> name{};
  (void)::gethostname(name.data(), name.size() - 1);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  // Ranks pass each other their shared memory over abstract Unix sockets, whose names are local to
  // a network namespace. So ranks in containers with different namespaces count as on different
  // hosts.
  struct stat network = {};
  (void)::stat("/proc/self/ns/net", &network);
  return {.host = concat(boot, " ", network.st_ino, " ", node), .name = name.data()};
}

std::string to_text(const HostIdentity& identity) {
  return concat(identity.host, "\n", identity.name);
}

HostIdentity parse_host_identity(const std::string& text) {
  const std::size_t end = text.rfind('\n');
  if (end == std::string::npos) return {.host = text};
  return {.host = text.substr(0, end), .name = text.substr(end + 1)};
}

Topology topology_of(int rank, std::span<const HostIdentity> ranks) {
  Topology topology;
  topology.rank = rank;
  topology.local_sizes.clear();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0 && ranks[i].host == ranks[i - 1].host) {
      ++topology.local_sizes.back();
    } else {
      topology.local_sizes.push_back(1);
      topology.host_names.push_back(ranks[i].name);
    }
  }
  return topology;
}

}  // namespace bp
