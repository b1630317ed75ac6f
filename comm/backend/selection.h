// Which algorithm carries out an all_reduce where nobody asked for one: a table by size, made for
// the ranks, hosts and transport of one communicator. All ranks make the same. (The other
// operations have one algorithm each over a transport: docs/collectives.md.)
#pragma once

#include <cstddef>
#include <vector>

#include "comm/backend/algorithm.h"

namespace bp {

// What the choice depends on, beside the bytes.
struct SelectionKey {
  int ranks = 1;
  int hosts = 1;
  bool shared = false;  // hosts' own ranks share memory, and some host has several
};

class Selection {
 public:
  // By the cost model (cost_model.h): Gloo's loopback within a host, 10 Gb Ethernet between hosts.
  explicit Selection(const SelectionKey& key);

  [[nodiscard]] Algorithm all_reduce(std::size_t bytes) const;

 private:
  struct Row {
    std::size_t below = 0;  // for fewer bytes than this
    Algorithm algorithm = Algorithm::ring;
  };
  std::vector<Row> rows_;  // in order of size; the last is for all that is longer
};

}  // namespace bp
