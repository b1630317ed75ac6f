// Texts that stand in a data set more than once, found by their hashes.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "trainer/data/hash.h"
#include "trainer/data/sample_store.h"

namespace bp::trainer {

// The rows of all sources, one source after the other, numbered from 0. 24 bytes a row.
class TextRows {
 public:
  void begin_source() { first_rows_.push_back(next_row_); }
  void add(std::string_view text) { rows_.push_back({digest_of(text), next_row_++}); }

  // The rows to leave out, ascending, so that each text stays once: in the last source that has it,
  // its first row there. (Sources are in the order train, dev, test, so a text that is tested on is
  // not trained on.)
  [[nodiscard]] std::vector<std::int64_t> repeats();

  // How many rows of dev and of test have a text that a row of train has too. `split_of` gets the
  // source and the row in it, from 1.
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
  // Calls `body` with each group of rows that have one text, in ascending order of rows.
  template <class Body>
  void for_each_group(const Body& body);
  [[nodiscard]] std::size_t source_of(std::int64_t row) const;

  std::vector<Row> rows_;
  std::vector<std::int64_t> first_rows_;  // of each source
  std::int64_t next_row_ = 0;
};

}  // namespace bp::trainer
