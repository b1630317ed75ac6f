#include "comm/torch/owners.h"

#include <algorithm>
#include <utility>

#include "bp/collective.h"

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

std::optional<Exchange> Owners::between_hosts(PartOf part_of) {
  if (!leaders_ || local_rank() > 0) return std::nullopt;
  return Exchange{.comm = *leaders_,
                  .part_of = [this, part_of = std::move(part_of)](std::size_t number, int host) {
                    const int first = topology_.leader_of(host);
                    const int ranks = topology_.local_sizes[static_cast<std::size_t>(host)];
                    const Block begin = part_of(number, first);
                    const Block end = part_of(number, first + ranks - 1);
                    return Block{.offset = begin.offset,
                                 .count = end.offset + end.count - begin.offset};
                  }};
}

void Owners::broadcast(const std::vector<at::Tensor>& tensors, int root) {
  barrier(local(), {.name = "shared memory is written"});
  if (hosts() == 1) return;
  if (local_rank() == 0) broadcast_tensors(*leaders_, tensors, host_of(root));
  barrier(local(), {.name = "shared memory has arrived"});
}

}  // namespace bp
