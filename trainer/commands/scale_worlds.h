// The worlds of `bert_train scale`: the ranks of each host, as text.
#pragma once

#include <string>
#include <vector>

namespace bp::trainer {

// Returns what bprun -H takes for a world: "a:3,b:1" for "3+1" on the hosts "a,b". Without hosts,
// this machine is two: localhost and 127.0.0.1. Throws InputError (2) if the world is not made of
// numbers from 1 up, or has more of them than there are hosts.
[[nodiscard]] std::string hosts_of_world(const std::string& world, const std::string& hosts);

// Returns the arguments of `bert_train estimate` that measure a world of `bert_train scale` with
// these arguments: without the options of scale alone.
[[nodiscard]] std::vector<std::string> arguments_of_world(const std::vector<std::string>& scale);

}  // namespace bp::trainer
