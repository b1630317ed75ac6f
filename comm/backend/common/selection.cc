#include "comm/backend/common/selection.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

// The partners of halving-doubling are far apart, where those of the ring are neighbours. Their
// messages share links, so a byte costs a tenth more here. That makes the ring win for long
// vectors.
constexpr std::int64_t kFarPartnersPercent = 110;

struct CostTerms {
  CostTerms(int number, std::size_t size, const Link& link)
      : ranks(number),
        bytes(static_cast<std::int64_t>(size)),
        alpha(link.message_ns * 1000),
        beta(link.byte_ps),
        gamma(link.reduced_byte_ps) {
    core = static_cast<std::int64_t>(std::bit_floor(static_cast<unsigned>(number)));
    log_core = std::bit_width(static_cast<unsigned>(number)) - 1;
    log_up = std::bit_width(static_cast<unsigned>(number - 1));
    folds = core != ranks;
  }

  [[nodiscard]] std::int64_t share(std::int64_t parts) const { return bytes / parts * (parts - 1); }
  [[nodiscard]] std::int64_t fold() const {
    return folds ? 2 * alpha + 2 * bytes * beta + bytes * gamma : 0;
  }

  [[nodiscard]] std::int64_t ring() const {
    return 2 * (ranks - 1) * alpha + share(ranks) * (2 * beta + gamma);
  }
  [[nodiscard]] std::int64_t doubling() const {
    return log_core * (alpha + bytes * (beta + gamma)) + fold();
  }
  [[nodiscard]] std::int64_t halving() const {
    return 2 * log_core * alpha + share(core) * (2 * beta * kFarPartnersPercent / 100 + gamma) +
           fold();
  }
  [[nodiscard]] std::int64_t tree() const {
    return 2 * log_up * (alpha + bytes * beta) + log_up * bytes * gamma;
  }
  // With the best number of segments, k. Each segment takes the time of two messages at every
  // level.
  [[nodiscard]] std::int64_t double_tree() const {
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t k = 1; k <= 1024; k *= 2) {
      const std::int64_t segment = 2 * alpha + (4 * beta + 2 * gamma) * (bytes / (2 * k));
      best = std::min(best, (2 * log_up + k) * segment);
    }
    return best;
  }

  std::int64_t ranks;
  std::int64_t bytes;
  std::int64_t alpha;
  std::int64_t beta;
  std::int64_t gamma;
  std::int64_t core = 1;  // the largest power of two that is not above ranks
  std::int64_t log_core = 0;
  std::int64_t log_up = 0;
  bool folds = false;
};

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

std::int64_t all_reduce_ps(Algorithm algorithm, int ranks, std::size_t bytes, const Link& link) {
  const CostTerms terms(ranks, bytes, link);
  switch (algorithm) {
    case Algorithm::ring:
      return terms.ring();
    case Algorithm::recursive_doubling:
      return terms.doubling();
    case Algorithm::halving_doubling:
      return terms.halving();
    case Algorithm::tree:
      return terms.tree();
    case Algorithm::double_tree:
      return terms.double_tree();
    case Algorithm::automatic:
    case Algorithm::hierarchical:
      break;
  }
  return std::numeric_limits<std::int64_t>::max();
}

}  // namespace bp
