// The hierarchical all-reduce of one communicator (comm/schedule/hierarchy.h). Inside a host it
// works in memory that the ranks share, or by messages if they share none; between hosts it works
// by messages.
#include <limits>
#include <vector>

#include "comm/backend/cpu.h"
#include "comm/backend/network/algorithms.h"
#include "comm/reduce/reduce.h"
#include "comm/schedule/hierarchy.h"

namespace bp {
namespace {

// A shorter vector takes one rail. Several would only be more messages at a time.
constexpr std::size_t kSeveralRailsFrom = std::size_t{256} << 10;

// Returns the counts of the shares of this host's ranks.
std::vector<std::size_t> shares(const Hierarchy& hierarchy, std::size_t count) {
  std::vector<std::size_t> counts(static_cast<std::size_t>(hierarchy.local_size()), 0);
  for (int l = 0; l < hierarchy.rails(); ++l) {
    counts[static_cast<std::size_t>(l)] = block_of(count, hierarchy.rails(), l).count;
  }
  return counts;
}

}  // namespace

// No rank completes before all have entered: a rank's shares come over rails to which all hosts
// belong, and each host begins after all its ranks have entered.
void CpuBackend::hierarchical_all_reduce(CollectiveCall& call, View data, ReduceOp op) {
  const int most = data.bytes() < kSeveralRailsFrom ? 1 : std::numeric_limits<int>::max();
  const Hierarchy hierarchy(call.rank(), parts_.topology.local_sizes, most);
  const std::vector<std::size_t> counts = shares(hierarchy, data.count);
  // The rank that carries a share divides it once, when it is complete.
  const ReduceOp step = op == ReduceOp::average ? ReduceOp::sum : op;
  const View own = part_of(data, gathered_block(counts, hierarchy.local_rank()));
  if (hierarchy.local_size() > 1) {
    const CollectiveCall::Team host(call, hierarchy.host_ranks());
    if (inside_ == nullptr) {
      ring_reduce_scatter(call, data, own, counts, step, parts_.segments);
    } else {
      inside_->reduce_scatter(call, data, own, counts, step);
    }
  }
  if (hierarchy.share() >= 0) {
    const CollectiveCall::Team rail(call, hierarchy.rail_ranks());
    all_reduce_by(between_hosts_.all_reduce(own.bytes()), call, own, step, parts_.segments);
  }
  if (hierarchy.share() >= 0 && op == ReduceOp::average) {
    finish_average(own.type, own.data, own.count, call.size());
  }
  if (hierarchy.local_size() > 1) {
    const CollectiveCall::Team host(call, hierarchy.host_ranks());
    if (inside_ == nullptr) return ring_all_gather(call, data, counts, parts_.segments);
    inside_->all_gather(call, data, counts);
  }
}

}  // namespace bp
