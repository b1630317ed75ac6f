// Which algorithm carries out an all_reduce where nobody asked for one: a table by size, made for
// the ranks, hosts and transport of one communicator. All ranks make the same. (The other
// operations have one algorithm each over a transport: docs/collectives.md.)
#pragma once

#include <cstddef>
#include <span>
#include <string>
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
  struct Row {
    std::size_t below = 0;  // for fewer bytes than this
    Algorithm algorithm = Algorithm::ring;
    bool operator==(const Row&) const = default;
  };

  // By the cost model (cost_model.h): Gloo's loopback within a host, 10 Gb Ethernet between hosts.
  explicit Selection(const SelectionKey& key);

  [[nodiscard]] Algorithm all_reduce(std::size_t bytes) const;
  // In order of size; the last is for all that is longer.
  [[nodiscard]] std::span<const Row> rows() const { return rows_; }

 private:
  std::vector<Row> rows_;
};

// "all_reduce, 8 ranks on 2 hosts:\n  below 65536 bytes    recursive_doubling\n ..."
[[nodiscard]] std::string describe(const SelectionKey& key, const Selection& selection);

}  // namespace bp
