// Rows of one kind in a file, for `bert_train check`.
#pragma once

#include <cstdint>
#include <string>

#include "base/text.h"
#include "trainer/data/numbers.h"

namespace bp::trainer {

struct RowsFound {
  std::int64_t count = 0;
  std::string first = {};  // where: "reviews.csv, row 2 (line 3)"

  // `place`: a function that returns where the row is.
  template <class Place>
  void add(const Place& place) {
    if (count++ == 0) first = place();
  }
  [[nodiscard]] std::string text() const {
    return count == 0 ? "0" : concat(with_commas(count), ", the first: ", first);
  }
};

}  // namespace bp::trainer
