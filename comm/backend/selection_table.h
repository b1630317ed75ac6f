// Which algorithm was measured to be the fastest where: a file that comm_bench --tune writes, and
// that every rank of a job reads (CommunicatorOptions::selection). A line holds
//
//   all_reduce  gloo  4  2  1048576  recursive_doubling
//
// operation, backend, ranks, hosts, the bytes below which it holds ("-" for all that is longer),
// and the algorithm. Of the lines for a job the first that fits counts; a job that has none goes by
// what the cost model says. Empty lines and what follows a # do not count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "comm/backend/algorithm.h"

namespace bp {

// Where a table holds, beside the operation.
struct SelectionKey {
  std::string backend = "gloo";  // "gloo+shm" where ranks of one host share memory
  int ranks = 1;
  int hosts = 1;
  bool operator==(const SelectionKey&) const = default;
};

struct SelectionRow {
  std::size_t below = 0;  // for fewer bytes than this
  Algorithm algorithm = Algorithm::ring;
  bool operator==(const SelectionRow&) const = default;
};

inline constexpr std::size_t kAllThatIsLonger = ~std::size_t{0};

class SelectionTable {
 public:
  SelectionTable() = default;
  // `name` is the file's, for messages. Throws invalid_argument naming the line that is wrong.
  SelectionTable(std::istream& in, const std::string& name);
  // Throws io where it cannot be read.
  [[nodiscard]] static SelectionTable read(const std::string& path);

  void add(const SelectionKey& key, const SelectionRow& row);
  void write(std::ostream& out) const;

  [[nodiscard]] std::vector<SelectionRow> rows(const SelectionKey& key) const;
  // Equal where the tables are, whatever their files look like. 0: empty.
  [[nodiscard]] std::uint64_t hash() const;

 private:
  struct Line {
    SelectionKey key;
    SelectionRow row;
  };
  std::vector<Line> lines_;
};

}  // namespace bp
