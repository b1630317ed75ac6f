// Divides rows among ranks by their shares. In a header, since libbp_torch.so has no file of base.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/text.h"
#include "bp/error.h"

namespace bp {
// Divides `rows` in proportion to `weights`, which are not negative and not all 0; by the largest
// remainder, and of equal ones the lowest rank's. A rank gets at most as many rows as `most` says,
// if it is not empty, and as long as there are enough for all, at least one if its weight is
// positive. Throws invalid_argument if `most` leaves rows over.
//
// Rows go one by one to the rank that lacks most of its share. That gives the largest remainders
// the rows that are left, and leaves to the others what a bound takes from one.
[[nodiscard]] inline std::vector<std::int64_t> divide_rows(
    std::int64_t rows, std::span<const double> weights, std::span<const std::int64_t> most = {}) {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> given(weights.size(), 0);
  const auto may_take = [&](std::size_t rank) {
    return weights[rank] > 0 && (most.empty() || given[rank] < most[rank]);
  };
  std::int64_t wanted = 0;
  for (std::size_t rank = 0; rank < weights.size(); ++rank) wanted += may_take(rank) ? 1 : 0;
  std::int64_t left = rows;
  for (std::size_t rank = 0; rank < weights.size() && rows >= wanted; ++rank) {
    if (!may_take(rank)) continue;
    given[rank] = 1;
    --left;
  }
  const auto lacks = [&](std::size_t rank) {
    return static_cast<double>(rows) * weights[rank] / all - static_cast<double>(given[rank]);
  };
  for (; left > 0; --left) {
    std::optional<std::size_t> next;
    for (std::size_t rank = 0; rank < weights.size(); ++rank) {
      if (may_take(rank) && (!next || lacks(rank) > lacks(*next))) next = rank;
    }
    if (!next) {
      throw Error(ErrorCode::invalid_argument,
                  concat(left, " of ", rows, " rows are more than the ranks can take"));
    }
    ++given[*next];
  }
  return given;
}

}  // namespace bp
