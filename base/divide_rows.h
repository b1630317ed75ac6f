// Divides rows among ranks by their shares.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bp {

// Divides `rows` in proportion to `weights`, which are not negative and not all 0; by the largest
// remainder, and of equal ones the lowest rank's. A rank gets at most as many rows as `most` says,
// if it is not empty, and as long as there are enough for all, at least one if its weight is
// positive. Throws invalid_argument if `most` leaves rows over.
[[nodiscard]] std::vector<std::int64_t> divide_rows(std::int64_t rows,
                                                    std::span<const double> weights,
                                                    std::span<const std::int64_t> most = {});

}  // namespace bp
