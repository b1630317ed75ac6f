// A set of row numbers, in one bit for each row.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace bp::trainer {

class RowSet {
 public:
  RowSet() = default;
  RowSet(std::initializer_list<std::int64_t> rows) {
    for (const std::int64_t row : rows) insert(row);
  }

  // Rows count from 0 and may come in any order, each once.
  void insert(std::int64_t row);
  void insert(const RowSet& rows);  // perhaps some that are in the set already
  [[nodiscard]] bool contains(std::int64_t row) const;
  // Prepares for count_below(); call it after the last insert().
  void index();
  // Returns the number of rows in the set that are less than `row`.
  [[nodiscard]] std::int64_t count_below(std::int64_t row) const;
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  std::vector<std::uint64_t> words_;
  std::vector<std::int64_t> before_;  // rows before every eighth word
  std::int64_t size_ = 0;
};

// Which rows of the sources go into the store: all except those that an option leaves out.
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
