// Chooses the algorithm of an all_reduce if the program asks for none: a table by size, made for
// the ranks, hosts and transport of one communicator. All ranks make the same table. (Every other
// operation has one algorithm over a transport: docs/collectives.md.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/backend/common/algorithm.h"
#include "comm/backend/common/selection_table.h"

namespace bp {

// The constants of a link and its ends.
struct Link {
  std::int64_t message_ns = 0;       // alpha
  std::int64_t byte_ps = 0;          // beta: on the wire
  std::int64_t reduced_byte_ps = 0;  // gamma
};

inline constexpr Link kTenGigabit{25'000, 909, 125};  // 1.1 GB/s
inline constexpr Link kLoopback{46'000, 476, 125};    // 2.1 GB/s, by Gloo

// Returns the picoseconds that an all-reduce takes by the formulas of docs/collectives.md. The
// numbers are whole, so that all ranks compute the same on any machine. `algorithm` must not be
// automatic or hierarchical, which use other algorithms.
[[nodiscard]] std::int64_t all_reduce_ps(Algorithm algorithm,
                                         int ranks,
                                         std::size_t bytes,
                                         const Link& link);

class Selection {
 public:
  // Takes the rows of `measured` for the key. Without any, it uses the cost model above,
  // with Gloo's loopback within a host and 10 Gb Ethernet between hosts. Throws invalid_argument if
  // a row has an algorithm that these hosts cannot run.
  explicit Selection(const SelectionKey& key, const SelectionTable& measured = {});

  [[nodiscard]] Algorithm all_reduce(std::size_t bytes) const;

 private:
  std::vector<SelectionRow> rows_;  // the first row that fits counts, or else the last row
};

}  // namespace bp
