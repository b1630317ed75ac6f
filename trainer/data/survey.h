// The first reading of the sources: everything that can be wrong with them is found here, before
// anything is written.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trainer/data/plan.h"

namespace bp::trainer {

struct Survey {
  std::vector<std::int64_t> rows;  // of each source
  std::int64_t all_rows = 0;
  std::vector<std::string> labels;  // of the source to train on, sorted
};

// Throws InputError 65: what TableReader throws, no rows, a row without a label (only a test file
// may leave labels empty), a label in a dev or test file that is none of the training labels.
[[nodiscard]] Survey survey(const Plan& plan);

// Calls `row` for each row of a source with its number (from 1), text and label.
struct SourceRow {
  std::int64_t number = 0;
  std::string_view text;
  std::string_view label;
  const TableReader* reader = nullptr;  // for place()
};
void for_each_row(const SourceFile& source, const std::function<void(const SourceRow&)>& row);

}  // namespace bp::trainer
