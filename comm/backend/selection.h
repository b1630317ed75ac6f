// Chooses the algorithm of an all_reduce if the program asks for none: a table by size, made for
// the ranks, hosts and transport of one communicator. All ranks make the same table. (Every other
// operation has one algorithm over a transport: docs/collectives.md.)
#pragma once

#include <cstddef>
#include <vector>

#include "comm/backend/selection_table.h"

namespace bp {

class Selection {
 public:
  // Takes the rows of `measured` for the key. Without any, it uses the cost model (cost_model.h),
  // with Gloo's loopback within a host and 10 Gb Ethernet between hosts. Throws invalid_argument if
  // a row has an algorithm that these hosts cannot run.
  explicit Selection(const SelectionKey& key, const SelectionTable& measured = {});

  [[nodiscard]] Algorithm all_reduce(std::size_t bytes) const;

 private:
  std::vector<SelectionRow> rows_;  // the first row that fits counts, or else the last row
};

}  // namespace bp
