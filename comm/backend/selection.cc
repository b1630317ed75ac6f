#include "comm/backend/selection.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "bp/error.h"
#include "comm/backend/cost_model.h"

namespace bp {
namespace {

constexpr int kLargestPower = 34;  // longer vectors take the row of 16 GiB

// Returns true if some host has several ranks.
bool can_lead(const SelectionKey& key) { return key.hosts > 1 && key.ranks > key.hosts; }

Algorithm fastest(const SelectionKey& key, std::size_t bytes) {
  // Shared memory costs a hundredth of a message, and only one vector per host travels between
  // hosts.
  if (key.backend.ends_with("+shm") && can_lead(key)) return Algorithm::hierarchical;
  const Link& link = key.hosts > 1 ? kTenGigabit : kLoopback;
  const auto cost = [&](Algorithm algorithm) {
    return all_reduce_ps(algorithm, key.ranks, bytes, link);
  };
  constexpr std::array kChoices = {Algorithm::recursive_doubling, Algorithm::halving_doubling,
                                   Algorithm::ring, Algorithm::tree, Algorithm::double_tree};
  return *std::ranges::min_element(kChoices, {}, cost);
}

}  // namespace

Selection::Selection(const SelectionKey& key, const SelectionTable& measured)
    : rows_(measured.rows(key)) {
  for (const SelectionRow& row : rows_) {
    if (row.algorithm != Algorithm::hierarchical || can_lead(key)) continue;
    throw Error(ErrorCode::invalid_argument,
                concat("the selection has hierarchical for ", key.ranks, " ranks on ", key.hosts,
                       key.hosts == 1 ? " host" : " hosts", ", which cannot run it"));
  }
  if (!rows_.empty()) return;
  for (int power = 0; power <= kLargestPower; ++power) {
    const Algorithm algorithm = fastest(key, std::size_t{1} << power);
    if (!rows_.empty() && rows_.back().algorithm == algorithm) continue;
    if (!rows_.empty()) rows_.back().below = std::size_t{1} << power;
    rows_.push_back({kAllThatIsLonger, algorithm});
  }
}

Algorithm Selection::all_reduce(std::size_t bytes) const {
  const auto fits = [&](const SelectionRow& row) { return bytes < row.below; };
  const auto found = std::ranges::find_if(rows_, fits);
  return found == rows_.end() ? rows_.back().algorithm : found->algorithm;
}

}  // namespace bp
