// Orders of rows that are computed, not stored: pure arithmetic in (seed, epoch, position).
#pragma once

#include <cstdint>

namespace bp {

// A bijection of 0 .. rows-1 for each seed and epoch: returns the row at `position`. The numbers
// are the same on every machine and stay the same in later versions.
[[nodiscard]] std::int64_t permuted(std::int64_t position,
                                    std::int64_t rows,
                                    std::uint64_t seed,
                                    std::int64_t epoch);

// `count` positions of an epoch, from `first` on.
struct Positions {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Part `part` of `parts` of the positions. Parts differ in size by at most one and follow each
// other.
[[nodiscard]] Positions part_of(const Positions& whole, std::int64_t part, std::int64_t parts);

}  // namespace bp
