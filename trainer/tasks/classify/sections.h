// The sections of report.html about a classifier's results. Each function returns a piece of
// HTML; empty if there is nothing to show there.
#pragma once

#include <string>
#include <vector>

#include "trainer/report/error_rows.h"
#include "trainer/tasks/classify/scores.h"
#include "trainer/tasks/classify/tally.h"

namespace bp::trainer {

// The detailed result of one split.
struct ClassDetail {
  std::string split = {};  // "test"
  std::vector<std::string> labels = {};
  Scores scores = {};
  ErrorRows errors = {};
};

[[nodiscard]] std::string confusion_section(const ClassDetail& detail,
                                            const Tally& tally);  // matrix
// As a list, for many labels.
[[nodiscard]] std::string confusions_section(const ClassDetail& detail, const Tally& tally);
[[nodiscard]] std::string classes_section(const ClassDetail& detail);  // precision, recall, F1

// Returns all of them. `tally`: null if a sample has several labels.
[[nodiscard]] std::string class_sections(const ClassDetail& detail, const Tally* tally);

}  // namespace bp::trainer
