// Executes a schedule without sockets. A rank's memory consists of cells (a block, a segment, a
// vector). Each cell records the expression that produced it, so a test can tell whether each
// rank's data went in once and in which order.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace bp {

struct Cell {
  std::vector<int> times;        // times[r]: how often rank r's data is in it; empty: holds nothing
  std::uint64_t expression = 0;  // equal only for the same operations in the same order
  bool operator==(const Cell&) const = default;
};

struct SimulatedTransfer {
  enum class Use : std::uint8_t { none, replace, lower, upper };  // how the receiver combines it
  int peer = 0;
  int cell = 0;
  Use use = Use::none;
};

// The sends and receives of a step are posted together. The rank continues when all are complete,
// and reduces then. A send reads its memory when it is delivered, as zero-copy transports do.
struct SimulatedStep {
  std::vector<SimulatedTransfer> sends;
  std::vector<SimulatedTransfer> receives;
};

using Program = std::vector<SimulatedStep>;  // of one rank
using Memory = std::vector<Cell>;            // of one rank

[[nodiscard]] Cell combine(const Cell& lower, const Cell& upper);

// Returns rank r's own data, the same in each of its cells.
[[nodiscard]] Memory own_data(int rank, int ranks, int cells);

// Delivers in an order drawn from `seed`. Returns the first error, or "": a deadlock, a message
// that no rank receives, a message for another cell than expected, an empty cell sent.
[[nodiscard]] std::string simulate(const std::vector<Program>& programs,
                                   std::vector<Memory>& memory,
                                   std::uint64_t seed);

}  // namespace bp
