#include "launcher/hosts/placement.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {
namespace {

int most_ranks(const Host& host) { return host.max_slots.value_or(host.capacity()); }

template <class Measure>
int total(const Hosts& hosts, Measure measure) {
  return std::accumulate(hosts.begin(), hosts.end(), 0,
                         [&](int sum, const Host& host) { return sum + measure(host); });
}

}  // namespace

std::vector<PlacedHost> place_ranks(const Hosts& hosts, std::optional<int> ranks) {
  const int slots = total(hosts, [](const Host& host) { return host.capacity(); });
  const int most = total(hosts, most_ranks);
  const int wanted = ranks.value_or(slots);
  if (wanted > most) {
    throw Error(ErrorCode::invalid_argument,
                concat("-n ", wanted, " asks for more ranks than the ", most,
                       most == 1 ? " slot" : " slots", " of ", hosts.size(),
                       hosts.size() == 1 ? " host" : " hosts", "; give a host more, as in -H ",
                       hosts.front().name, ":", wanted));
  }
  std::vector<PlacedHost> placement;
  int left = wanted;
  int beyond_slots = std::max(0, wanted - slots);
  for (const Host& host : hosts) {
    const int extra = std::min(beyond_slots, most_ranks(host) - host.capacity());
    const int here = std::min(left, host.capacity() + extra);
    if (here > 0) {
      placement.push_back({.host = host, .first_rank = wanted - left, .ranks = here});
    }
    left -= here;
    beyond_slots -= extra;
  }
  return placement;
}

std::vector<PlacedHost> place_what_fits(const Hosts& hosts, std::optional<int> ranks) {
  if (hosts.empty()) {
    return {};
  }
  const int most = total(hosts, most_ranks);
  return place_ranks(hosts, ranks ? std::optional(std::min(*ranks, most)) : ranks);
}

int world_size(const std::vector<PlacedHost>& placement) {
  return placement.empty() ? 0 : placement.back().first_rank + placement.back().ranks;
}

std::vector<int> local_sizes(const std::vector<PlacedHost>& placement) {
  std::vector<int> sizes;
  for (const PlacedHost& placed : placement) {
    sizes.push_back(placed.ranks);
  }
  return sizes;
}

std::size_t host_of_rank(const std::vector<PlacedHost>& placement, int rank) {
  for (std::size_t i = 0; i < placement.size(); ++i) {
    if (rank >= placement[i].first_rank && rank < placement[i].first_rank + placement[i].ranks) {
      return i;
    }
  }
  BP_CHECK(false, "a rank that is on no host");
  return 0;
}

}  // namespace bp::launcher
