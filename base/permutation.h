// The order of rows in an epoch: computed from (seed, epoch, position), never stored.
#pragma once

#include <cstdint>

namespace bp {

// Returns the row at `position`, a bijection of 0 .. rows-1 for each seed and epoch. The result is
// the same on every machine and must stay the same in later versions.
[[nodiscard]] std::int64_t permuted(std::int64_t position,
                                    std::int64_t rows,
                                    std::uint64_t seed,
                                    std::int64_t epoch);

// The `count` positions of an epoch that begin at `first`.
struct Positions {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Returns part `part` (from 0) of `parts`. The parts are consecutive and differ in size by at most
// one.
[[nodiscard]] Positions part_of(const Positions& whole, std::int64_t part, std::int64_t parts);

}  // namespace bp
