#include "comm/backend/cost_model.h"

#include <algorithm>
#include <bit>
#include <limits>

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
  // With the best number of chunks, k. Each chunk takes the time of two messages at every level.
  [[nodiscard]] std::int64_t double_tree() const {
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t k = 1; k <= 1024; k *= 2) {
      const std::int64_t chunk = 2 * alpha + (4 * beta + 2 * gamma) * (bytes / (2 * k));
      best = std::min(best, (2 * log_up + k) * chunk);
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

}  // namespace

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
