// The sections of report.html about a classifier's results. Each function but error_rows() returns
// a piece of HTML; empty if there is nothing to show there.
#pragma once

#include <string>
#include <vector>

#include "trainer/report/error_rows.h"
#include "trainer/tasks/classify/tally.h"
#include "trainer/tasks/classify/worst_rows.h"

namespace bp::trainer {

// The detailed result of one split.
struct ClassDetail {
  std::string split = {};  // "test"
  std::vector<std::string> labels = {};
  Tally tally;
  std::vector<WorstRow> worst = {};
};

[[nodiscard]] std::string confusion_section(const ClassDetail& detail);  // matrix
[[nodiscard]] std::string confusions_section(
    const ClassDetail& detail);                                        // as a list, for many labels
[[nodiscard]] std::string classes_section(const ClassDetail& detail);  // precision, recall, F1
[[nodiscard]] ErrorRows error_rows(const ClassDetail& detail);

// Returns all of them.
[[nodiscard]] std::string class_sections(const ClassDetail& detail);

}  // namespace bp::trainer
