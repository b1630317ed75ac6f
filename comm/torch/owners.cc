#include "comm/torch/owners.h"

#include <algorithm>
#include <utility>

namespace bp {

Owners::Owners(Communicator& world,
               Topology topology,
               bool across_hosts,
               const std::vector<double>& shares)
    : world_(world),
      topology_(std::move(topology)),
      are_all_(across_hosts || hosts() == 1),
      shares_(static_cast<std::size_t>(size()), 1.0) {
  if (shares.empty()) return;
  const int first = are_all_ ? 0 : topology_.leader_of(host());
  std::copy_n(shares.begin() + first, size(), shares_.begin());
}

void Owners::connect() {
  if (hosts() == 1) return;
  group_.emplace(world_.split(host()));
  leaders_.emplace(world_.split(local_rank() == 0 ? 0 : -1));
}

}  // namespace bp
