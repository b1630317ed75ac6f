#include "trainer/train/loop/shard_shares.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "base/input_error.h"
#include "base/number.h"
#include "base/options/value_text.h"
#include "base/text.h"
#include "bp/collective.h"
#include "trainer/common/text_list.h"
#include "trainer/report/shard_costs.h"
#include "trainer/train/watch/memory_watch.h"

namespace bp::trainer {
namespace {

constexpr const char* kHint = "equal, auto, or the share of each host: --shard-shares a:3,b:1";

// By host.
std::vector<double> asked_for(const std::string& asked, const Topology& topology) {
  std::map<std::string, double> given = parse_host_shares(asked);
  std::vector<double> shares;
  std::vector<std::string> names;
  for (int host = 0; host < topology.hosts(); ++host) {
    names.push_back(topology.host_name(host));
    const auto found = given.extract(names.back());
    if (found) shares.push_back(found.mapped());
  }
  if (shares.size() < names.size() || !given.empty()) {
    throw InputError(2, concat("--shard-shares ", asked, " does not name the hosts of this job"),
                     "give each a share: " + list_of(names, ", "));
  }
  return shares;
}

// By host. Ranks of a host may be in control groups of their own; the smallest counts.
std::vector<double> by_memory(Communicator& world, Shard shard, const TrainingState& state) {
  const MemoryUse use = memory_use();
  const auto mine = static_cast<double>(room_for_shards(
      use.limit - std::min(use.used, use.limit), state, world.topology().local_size(), shard));
  std::vector<double> of_ranks(static_cast<std::size_t>(world.size()));
  all_gather(world, const_view(std::span(&mine, 1)), view(of_ranks), {.name = "room for shards"});
  std::vector<double> shares;
  auto next = of_ranks.begin();
  for (const int ranks : world.topology().local_sizes) {
    shares.push_back(*std::min_element(next, next + ranks));
    next += ranks;
  }
  return shares;
}

}  // namespace

std::map<std::string, double> parse_host_shares(const std::string& text) {
  std::map<std::string, double> shares;
  for (const std::string& part : split_at_commas(text)) {
    const std::size_t colon = part.rfind(':');
    const auto share = colon == std::string::npos
                           ? std::nullopt
                           : number_in<double>(std::string_view(part).substr(colon + 1));
    if (!share || !(*share >= 0) || !shares.emplace(part.substr(0, colon), *share).second) {
      throw InputError(2, concat("--shard-shares: '", part, "' is not the share of one more host"),
                       kHint);
    }
  }
  const bool is_empty =
      std::ranges::all_of(shares, [](const auto& one) { return one.second == 0; });
  if (is_empty) throw InputError(2, "--shard-shares gives nobody a share", kHint);
  return shares;
}

std::uint64_t room_for_shards(std::uint64_t free, TrainingState state, int ranks, Shard shard) {
  const std::uint64_t all = free + state.weights() * static_cast<std::uint64_t>(ranks);
  state.hosts = {{.ranks = ranks, .share = 0}};
  const ShardCost cost = shard_cost(state, 0, shard);
  return all - std::min(cost.weights + cost.gradients + cost.moments, all);
}

std::vector<double> shard_shares(Communicator& world,
                                 const std::string& asked,
                                 Shard shard,
                                 const TrainingState& state) {
  if (asked == "equal") return {};
  const std::vector<double> of_hosts =
      asked == "auto" ? by_memory(world, shard, state) : asked_for(asked, world.topology());
  if (std::accumulate(of_hosts.begin(), of_hosts.end(), 0.0) == 0) return {};
  std::vector<double> shares;
  for (int rank = 0; rank < world.size(); ++rank) {
    const int host = world.topology().place_of(rank).host;
    const int ranks = world.topology().local_sizes[static_cast<std::size_t>(host)];
    shares.push_back(of_hosts[static_cast<std::size_t>(host)] / ranks);
  }
  return shares;
}

}  // namespace bp::trainer
