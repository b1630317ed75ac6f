// The shares of hosts in an option, "a:3,b:1".
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bp/topology.h"

namespace bp::trainer {

// Throws InputError, naming `option`.
[[nodiscard]] std::map<std::string, double> parse_host_shares(std::string_view option,
                                                              const std::string& text);
// Returns them in the order of the hosts. Throws InputError unless they are of this job's hosts.
[[nodiscard]] std::vector<double> shares_of_hosts(std::string_view option,
                                                  const std::string& text,
                                                  const Topology& topology);
// Returns the weights that bprun's list of hosts gives ranks; nothing if all are equal. Throws
// InputError.
[[nodiscard]] std::vector<double> weights_of_ranks(const Topology& topology);
// Returns equal shares for the ranks of each host.
[[nodiscard]] std::vector<double> of_ranks(const std::vector<double>& of_hosts,
                                           const Topology& topology);

}  // namespace bp::trainer
