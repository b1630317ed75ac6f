#include "comm/backend/selection.h"

#include <algorithm>
#include <limits>

#include "comm/backend/cost_model.h"

namespace bp {
namespace {

constexpr std::size_t kEverything = std::numeric_limits<std::size_t>::max();
constexpr int kLargestPower = 34;  // what is longer goes like 16 GiB

Algorithm fastest(const SelectionKey& key, std::size_t bytes) {
  // Memory costs a hundredth of a message, and only one vector a host goes over the wire.
  if (key.shared && key.hosts > 1) return Algorithm::hierarchical;
  const Link& link = key.hosts > 1 ? kTenGigabit : kLoopback;
  const auto cost = [&](Algorithm algorithm) {
    return all_reduce_ps(algorithm, key.ranks, bytes, link);
  };
  return std::ranges::min({Algorithm::recursive_doubling, Algorithm::halving_doubling,
                           Algorithm::ring, Algorithm::tree, Algorithm::double_tree},
                          {}, cost);
}

}  // namespace

Selection::Selection(const SelectionKey& key) {
  for (int power = 0; power <= kLargestPower; ++power) {
    const Algorithm algorithm = fastest(key, std::size_t{1} << power);
    if (!rows_.empty() && rows_.back().algorithm == algorithm) continue;
    if (!rows_.empty()) rows_.back().below = std::size_t{1} << power;
    rows_.push_back({kEverything, algorithm});
  }
}

Algorithm Selection::all_reduce(std::size_t bytes) const {
  const auto fits = [&](const Row& row) { return bytes < row.below; };
  const auto found = std::ranges::find_if(rows_, fits);
  return found == rows_.end() ? rows_.back().algorithm : found->algorithm;
}

}  // namespace bp
