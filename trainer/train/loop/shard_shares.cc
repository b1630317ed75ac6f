#include "trainer/train/loop/shard_shares.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "bp/collective.h"
#include "trainer/report/shard_costs.h"
#include "trainer/train/loop/host_shares.h"
#include "trainer/train/watch/memory_watch.h"

namespace bp::trainer {
namespace {

// By host. Ranks of a host may be in control groups of their own; the smallest counts. Only rank 0
// has its weights in memory yet (make_model()).
std::vector<double> by_memory(Communicator& world, Shard shard, const TrainingState& state) {
  const MemoryUse use = memory_use();
  const std::uint64_t weights = world.topology().host() == 0 ? state.weights() : 0;
  std::vector<double> rooms(world.topology().local_sizes.size(),
                            std::numeric_limits<double>::max());
  rooms[static_cast<std::size_t>(world.topology().host())] =
      static_cast<double>(room_for_shards(use.limit - std::min(use.used, use.limit) + weights,
                                          state, world.topology().local_size(), shard));
  all_reduce(world, view(rooms), {.op = ReduceOp::min, .name = "room for shards"});
  return rooms;
}

}  // namespace

std::uint64_t room_for_shards(std::uint64_t free, TrainingState state, int ranks, Shard shard) {
  state.hosts = {{.ranks = ranks, .share = 0}};
  const ShardCost cost = shard_cost(state, 0, shard);
  return free - std::min(cost.weights + cost.gradients + cost.moments, free);
}

std::vector<double> shard_shares(Communicator& world,
                                 const std::string& asked,
                                 Shard shard,
                                 const TrainingState& state) {
  if (asked == "equal") return {};
  const std::vector<double> of_hosts =
      asked == "auto" ? by_memory(world, shard, state)
                      : shares_of_hosts("--shard-shares", asked, world.topology());
  if (std::accumulate(of_hosts.begin(), of_hosts.end(), 0.0) == 0) return {};
  return of_ranks(of_hosts, world.topology());
}

}  // namespace bp::trainer
