// The samples that a classifier got most wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trainer/report/error_rows.h"

namespace bp::trainer {

// A sample that the model got wrong, or nearly so.
struct WorstRow {
  std::int64_t sample_id = 0;
  std::int64_t text_id = 0;
  int label = 0;
  int prediction = 0;
  double probability = 0;  // probability that the model gave to the true label
  std::string text = {};   // set only for the rows that are kept
};

// Keeps the `limit` rows with the highest loss, that is, the lowest probability of the true label.
// Of equal rows it keeps the lower sample id, so the result does not depend on the order of add().
class WorstRows {
 public:
  explicit WorstRows(std::size_t limit = kMostErrorRows) : limit_(limit) {}
  void add(WorstRow row);
  [[nodiscard]] std::vector<WorstRow>& rows() { return rows_; }  // the worst first

 private:
  std::size_t limit_;
  std::vector<WorstRow> rows_;
};

}  // namespace bp::trainer
