// Which algorithm carries out an all_reduce where nobody asked for one: a table by size, made for
// the ranks, hosts and transport of one communicator. All ranks make the same. (The other
// operations have one algorithm each over a transport: docs/collectives.md.)
#pragma once

#include <cstddef>
#include <vector>

#include "comm/backend/selection_table.h"

namespace bp {

class Selection {
 public:
  // As `measured` has it for the key; else by the cost model (cost_model.h): Gloo's loopback within
  // a host, 10 Gb Ethernet between hosts. Throws invalid_argument where an algorithm was measured
  // that these hosts cannot run.
  explicit Selection(const SelectionKey& key, const SelectionTable& measured = {});

  [[nodiscard]] Algorithm all_reduce(std::size_t bytes) const;

 private:
  std::vector<SelectionRow> rows_;  // the first that fits counts, or else the last
};

}  // namespace bp
