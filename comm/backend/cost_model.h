// How long an all-reduce takes by the formulas of docs/collectives.md. Whole numbers, so that all
// ranks, whatever machine they run on, reckon the same.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/backend/algorithm.h"

namespace bp {

// The constants of a link and its ends.
struct Link {
  std::int64_t message_ns = 0;       // alpha
  std::int64_t byte_ps = 0;          // beta: on the wire
  std::int64_t reduced_byte_ps = 0;  // gamma
};

inline constexpr Link kTenGigabit{25'000, 909, 125};  // 1.1 GB/s
inline constexpr Link kLoopback{46'000, 476, 125};    // 2.1 GB/s, Gloo's

// In picoseconds. Of an algorithm that sends messages; not hierarchical, which is made of others.
[[nodiscard]] std::int64_t all_reduce_ps(Algorithm algorithm,
                                         int ranks,
                                         std::size_t bytes,
                                         const Link& link);

}  // namespace bp
