#include "launcher/sweep/placement/trial_placement.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace bp::launcher::sweep {
namespace {

using HostOrder = std::vector<std::size_t>;

// The hosts that a reservation keeps free, by index.
using Reserved = std::vector<bool>;

int free_slots(std::span<const HostSlots> pool, std::size_t host, const Reserved& reserved) {
  return reserved[host] ? 0 : pool[host].free;
}

// Returns the parts for a trial that needs one host: there the fewest slots remain free.
std::vector<Part> place_on_one(const Demand& demand,
                               std::span<const HostSlots> pool,
                               const Reserved& reserved) {
  std::optional<std::size_t> best;
  for (std::size_t host = 0; host < pool.size(); ++host) {
    const int free = free_slots(pool, host, reserved);
    if (free >= demand.slots && (!best || free < pool[*best].free)) best = host;
  }
  if (!best) return {};
  return {{.host = *best, .slots = demand.slots}};
}

HostOrder hosts_by_free_slots(std::span<const HostSlots> pool) {
  HostOrder hosts(pool.size());
  std::iota(hosts.begin(), hosts.end(), std::size_t{0});
  std::stable_sort(hosts.begin(), hosts.end(),
                   [&](std::size_t a, std::size_t b) { return pool[a].free > pool[b].free; });
  return hosts;
}

// Returns the parts for a trial over several hosts: on as few as possible. One host is better than
// several, so that one is chosen as for spread host.
std::vector<Part> place_on_any(const Demand& demand,
                               std::span<const HostSlots> pool,
                               const Reserved& reserved) {
  if (auto one = place_on_one(demand, pool, reserved); !one.empty()) return one;
  std::vector<Part> parts;
  int missing = demand.slots;
  for (const std::size_t host : hosts_by_free_slots(pool)) {
    const int taken = std::min(missing, free_slots(pool, host, reserved));
    if (taken > 0) parts.push_back({.host = host, .slots = taken});
    missing -= taken;
  }
  if (missing > 0) return {};
  return parts;
}

std::vector<Part> place(const Demand& demand,
                        std::span<const HostSlots> pool,
                        const Reserved& reserved) {
  return demand.spread == Spread::host ? place_on_one(demand, pool, reserved)
                                       : place_on_any(demand, pool, reserved);
}

// Returns the hosts that have the most free slots already, as many as the trial needs once they are
// wholly free. While they are reserved their free slots only become more, so the choice moves to
// another host only if that one is nearer to having room.
Reserved reserve(const Demand& demand, std::span<const HostSlots> pool) {
  Reserved reserved(pool.size(), false);
  int missing = demand.slots;
  for (const std::size_t host : hosts_by_free_slots(pool)) {
    if (missing <= 0) break;
    if (demand.spread == Spread::host) {
      if (pool[host].slots < demand.slots) continue;
      missing = 0;
    }
    reserved[host] = pool[host].slots > 0;
    missing -= pool[host].slots;
  }
  return reserved;
}

bool is_full(std::span<const HostSlots> pool) {
  return std::all_of(pool.begin(), pool.end(),
                     [](const HostSlots& host) { return host.free <= 0; });
}

int all_slots(std::span<const HostSlots> pool) {
  return std::accumulate(pool.begin(), pool.end(), 0,
                         [](int sum, const HostSlots& host) { return sum + host.slots; });
}

}  // namespace

bool fits_when_free(const Demand& demand, std::span<const HostSlots> pool) {
  if (demand.spread == Spread::any) return demand.slots <= all_slots(pool);
  return std::any_of(pool.begin(), pool.end(),
                     [&](const HostSlots& host) { return host.slots >= demand.slots; });
}

std::vector<Start> starts(std::vector<HostSlots>& pool, std::vector<Demand>& waiting) {
  const int patience = all_slots(pool);
  Reserved reserved(pool.size(), false);
  bool one_reserved = false;
  std::vector<Start> started;
  std::vector<Demand> stay;
  for (const Demand& demand : waiting) {
    auto parts = is_full(pool) ? std::vector<Part>() : place(demand, pool, reserved);
    if (!parts.empty()) {
      for (const Part& part : parts) pool[part.host].free -= part.slots;
      for (Demand& earlier : stay) ++earlier.overtaken;
      started.push_back({demand.trial, std::move(parts)});
      continue;
    }
    stay.push_back(demand);
    if (!one_reserved && demand.overtaken >= patience && fits_when_free(demand, pool)) {
      reserved = reserve(demand, pool);
      one_reserved = true;
    }
  }
  waiting = std::move(stay);
  return started;
}

}  // namespace bp::launcher::sweep
