// Which rows of the sources go into the store: all except those that an option leaves out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trainer/data/row_set.h"

namespace bp::trainer {

class KeptRows {
 public:
  KeptRows() = default;  // without sources
  // `rows` is the number of rows of each source. `dropped` are the rows to leave out, numbered from
  // 0 across all sources.
  KeptRows(std::vector<std::int64_t> rows, RowSet dropped);

  // Returns the number of a row, from 1, among the kept rows of its source; 0 if it is left out.
  // `row` also counts from 1.
  [[nodiscard]] std::int64_t place(std::size_t source, std::int64_t row) const;
  // Returns the number of kept rows of each source.
  [[nodiscard]] const std::vector<std::int64_t>& counts() const { return counts_; }

 private:
  std::vector<std::int64_t> first_rows_;  // of each source, numbered across all sources
  std::vector<std::int64_t> counts_;
  RowSet dropped_;
};

}  // namespace bp::trainer
