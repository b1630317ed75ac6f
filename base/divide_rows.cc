#include "base/divide_rows.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

// What a rank may get, and its share of the rows as a real number.
struct Claim {
  std::size_t rank = 0;
  double weight = 0;
  std::int64_t most = 0;
  std::int64_t rows = 0;
  [[nodiscard]] bool is_open() const { return weight > 0 && rows < most; }
};

}  // namespace

// Rows go one by one to the rank that is furthest from its share, which is the largest remainder
// for ranks without a bound, and leaves to the others what a bound takes from one.
std::vector<std::int64_t> divide_rows(std::int64_t rows,
                                      std::span<const double> weights,
                                      std::span<const std::int64_t> most) {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    claims.push_back({.rank = i, .weight = weights[i], .most = most.empty() ? rows : most[i]});
  }
  std::int64_t left = rows;
  const auto give = [&](Claim& claim, std::int64_t count) {
    const std::int64_t given = std::min({count, claim.most - claim.rows, left});
    claim.rows += given;
    left -= given;
  };
  const auto wanted = static_cast<std::int64_t>(
      std::ranges::count_if(claims, [](const Claim& claim) { return claim.is_open(); }));
  for (Claim& claim : claims) {
    const auto whole = static_cast<std::int64_t>(static_cast<double>(rows) * claim.weight / all);
    const std::int64_t least = rows >= wanted && claim.weight > 0 ? 1 : 0;
    give(claim, std::max(whole, least));
  }
  const auto lacks = [&](const Claim& claim) {
    return claim.is_open()
               ? static_cast<double>(rows) * claim.weight / all - static_cast<double>(claim.rows)
               : -static_cast<double>(rows) - 1;
  };
  while (left > 0) {
    Claim& next = *std::ranges::max_element(
        claims, [&](const Claim& a, const Claim& b) { return lacks(a) < lacks(b); });
    if (!next.is_open()) {
      throw Error(ErrorCode::invalid_argument,
                  concat("", rows, " rows are ", left, " more than the ranks can take"));
    }
    give(next, 1);
  }
  std::vector<std::int64_t> result;
  for (const Claim& claim : claims) result.push_back(claim.rows);
  return result;
}

}  // namespace bp
