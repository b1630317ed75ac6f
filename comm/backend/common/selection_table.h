// The algorithms that measurements found to be the fastest: a file that comm_bench --tune writes
// and that every rank of a job reads (CommunicatorOptions::selection). A line has
//
//   all_reduce  gloo  4  2  1048576  recursive_doubling
//
// operation, backend, ranks, hosts, the bytes below which it applies ("-": to all longer vectors),
// and the algorithm. Of the lines for a job the first that fits applies. A job without a line uses
// the cost model. Empty lines, and everything after a #, are ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "comm/backend/common/algorithm.h"

namespace bp {

// The jobs that a row applies to.
struct SelectionKey {
  std::string backend = "gloo";  // "gloo+shm" if ranks of a host share memory
  int ranks = 1;
  int hosts = 1;
  bool operator==(const SelectionKey&) const = default;
};

struct SelectionRow {
  std::size_t below = 0;  // applies to fewer bytes than this
  Algorithm algorithm = Algorithm::ring;
  bool operator==(const SelectionRow&) const = default;
};

inline constexpr std::size_t kAllThatIsLonger = ~std::size_t{0};

class SelectionTable {
 public:
  SelectionTable() = default;
  // `name`: of the file, for error texts. Throws invalid_argument, naming the wrong line.
  SelectionTable(std::istream& in, const std::string& name);
  // Throws io if the file cannot be read.
  [[nodiscard]] static SelectionTable read(const std::string& path);

  void add(const SelectionKey& key, const SelectionRow& row);
  void write(std::ostream& out) const;

  [[nodiscard]] std::vector<SelectionRow> rows(const SelectionKey& key) const;
  // Two tables have the same hash if they have the same rows. 0: empty.
  [[nodiscard]] std::uint64_t hash() const;

 private:
  struct Line {
    SelectionKey key;
    SelectionRow row;
  };
  std::vector<Line> lines_;
};

}  // namespace bp
