// Assigns ranks to hosts.
#pragma once

#include <optional>
#include <vector>

#include "launcher/hosts/host.h"

namespace bp::launcher {

struct PlacedHost {
  Host host;
  int first_rank = 0;
  int ranks = 0;
};

// Fills the hosts in the order given and leaves out hosts that get no rank. Without `ranks`, uses
// every slot. With `ranks`, a host may also get ranks beyond its slots, up to its max_slots, once
// all slots are taken. Throws invalid_argument, naming both numbers, if the ranks do not fit.
[[nodiscard]] std::vector<PlacedHost> place_ranks(const Hosts& hosts, std::optional<int> ranks);

// Like place_ranks(), but if `ranks` do not fit, places the largest number that does; an empty list
// for no hosts.
[[nodiscard]] std::vector<PlacedHost> place_what_fits(const Hosts& hosts, std::optional<int> ranks);

[[nodiscard]] int world_size(const std::vector<PlacedHost>& placement);  // 0 for no hosts
[[nodiscard]] std::vector<int> local_sizes(const std::vector<PlacedHost>& placement);
[[nodiscard]] std::size_t host_of_rank(const std::vector<PlacedHost>& placement, int rank);

}  // namespace bp::launcher
