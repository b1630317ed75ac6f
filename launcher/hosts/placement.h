// Which ranks run where.
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

// Fills host by host in the order given; hosts that get no rank are left out. Without `ranks`,
// every slot is used. With it, max_slots (where given) bounds a host instead of its slots, once all
// slots are taken. Throws invalid_argument, naming both numbers, when they do not fit.
[[nodiscard]] std::vector<PlacedHost> place_ranks(const Hosts& hosts, std::optional<int> ranks);

// Likewise, but as many as there is room for where `ranks` do not fit; maybe none.
[[nodiscard]] std::vector<PlacedHost> place_what_fits(const Hosts& hosts, std::optional<int> ranks);

[[nodiscard]] int world_size(const std::vector<PlacedHost>& placement);  // 0 for no hosts
[[nodiscard]] std::vector<int> local_sizes(const std::vector<PlacedHost>& placement);
[[nodiscard]] std::size_t host_of_rank(const std::vector<PlacedHost>& placement, int rank);

}  // namespace bp::launcher
