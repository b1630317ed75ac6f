// Finds texts that occur in a data set more than once, by their hashes.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "trainer/data/hash.h"
#include "trainer/data/sample_store.h"

namespace bp::trainer {

// The rows of all sources, in order of the sources, numbered from 0. Takes 24 bytes per row.
class TextRows {
 public:
  void begin_source() { first_rows_.push_back(next_row_); }
  void add(std::string_view text) { rows_.push_back({digest_of(text), next_row_++}); }

  // Returns the rows to leave out, in ascending order, so that each text stays once: at its first
  // row in the last source that has it. (The sources are in the order train, dev, test, so no text
  // that is tested on is trained on.)
  [[nodiscard]] std::vector<std::int64_t> repeats();

  // Returns the number of rows of dev and of test whose text a row of train has too. `split_of`
  // receives the source and the row's number in it, from 1.
  struct Leaks {
    std::int64_t dev = 0;
    std::int64_t test = 0;
  };
  [[nodiscard]] Leaks leaks(
      const std::function<Split(std::size_t source, std::int64_t row)>& split_of);

 private:
  struct Row {
    Digest text;
    std::int64_t row = 0;
  };
  // Calls `body` with each group of two or more rows that have the same text, in ascending order of
  // rows.
  template <class Body>
  void for_each_group(const Body& body);
  [[nodiscard]] std::size_t source_of(std::int64_t row) const;

  std::vector<Row> rows_;
  std::vector<std::int64_t> first_rows_;  // the first row of each source
  std::int64_t next_row_ = 0;
};

}  // namespace bp::trainer
