// Finds texts that occur in a data set more than once, by their hashes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/common/hash.h"
#include "trainer/prepare/row_set.h"
#include "trainer/prepare/sorted_digests.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {

// The rows of all sources, in order of the sources, numbered from 0. All functions throw io if the
// temporary file of SortedDigests cannot be used. Call either repeats() or findings(), once.
class TextRows {
 public:
  // More texts than `most_in_memory` take 24 bytes each in a temporary file in `folder`.
  explicit TextRows(std::string folder, std::size_t most_in_memory = SortedDigests::kMostInMemory)
      : digests_(std::move(folder), most_in_memory) {}

  void begin_source() { first_rows_.push_back(next_row_); }
  void add(std::string_view text) { digests_.add({digest_of(text), next_row_++}); }
  // The next row counts, but its text does not.
  void leave_out() { ++next_row_; }

  // Returns the rows to leave out, so that each text stays once: at its first row in the last
  // source that has it. (The sources are in the order train, dev, test, so no text that is tested
  // on is trained on.)
  [[nodiscard]] RowSet repeats();

  // `split_of` receives the source and the row's number in it, from 1.
  struct Findings {
    std::int64_t repeated = 0;  // rows whose text an earlier row has
    // Rows of dev and of test whose text a row of train has too.
    std::int64_t dev_in_train = 0;
    std::int64_t test_in_train = 0;
  };
  [[nodiscard]] Findings findings(
      const std::function<Split(std::size_t source, std::int64_t row)>& split_of);

 private:
  // Calls `body` for each row whose text occurs more than once, text by text in ascending order of
  // rows. `is_first` marks the first row of each text.
  void for_each_repeated(const std::function<void(std::int64_t row, bool is_first)>& body);
  [[nodiscard]] std::size_t source_of(std::int64_t row) const;

  SortedDigests digests_;
  std::vector<std::int64_t> first_rows_;  // the first row of each source
  std::int64_t next_row_ = 0;
};

}  // namespace bp::trainer
