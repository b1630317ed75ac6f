// The time that an all-reduce takes by the formulas of docs/collectives.md. The numbers are whole,
// so that all ranks compute the same on any machine.
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
inline constexpr Link kLoopback{46'000, 476, 125};    // 2.1 GB/s, by Gloo

// Returns picoseconds. `algorithm` must not be automatic or hierarchical, which use other
// algorithms.
[[nodiscard]] std::int64_t all_reduce_ps(Algorithm algorithm,
                                         int ranks,
                                         std::size_t bytes,
                                         const Link& link);

}  // namespace bp
