// Constants and helpers that the tests of schedules share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/unit/schedule_simulator.h"

namespace bp {

using Use = SimulatedTransfer::Use;
inline constexpr int kMostRanks = 64;

// Returns the number of delivery orders to try. Many ranks make many deliveries of every kind
// anyway.
inline std::uint64_t orders(int ranks) { return ranks <= 16 ? 4 : 1; }

inline std::size_t at(int index) { return static_cast<std::size_t>(index); }

inline std::vector<Memory> own_data_of_all(int ranks, int cells) {
  std::vector<Memory> memory;
  for (int r = 0; r < ranks; ++r) memory.push_back(own_data(r, ranks, cells));
  return memory;
}

inline std::vector<int> each_once(int ranks) { return std::vector<int>(at(ranks), 1); }

}  // namespace bp
