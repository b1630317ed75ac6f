// The sections of report.html about a classifier's results.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/report/section.h"
#include "trainer/report/error_rows.h"
#include "trainer/tasks/classify/class_scores.h"
#include "trainer/tasks/classify/scores.h"
#include "trainer/tasks/classify/tally.h"

namespace bp::trainer {

// Returns the label, cut if it is long; "#3" for an index without a name.
[[nodiscard]] std::string label_name(const std::vector<std::string>& labels, int index);

// The detailed result of one split.
struct ClassDetail {
  std::string split = {};  // "test"
  std::vector<std::string> labels = {};
  Scores scores = {};
  ErrorRows errors = {};
};

[[nodiscard]] Section confusion_section(const ClassDetail& detail, const Tally& tally);  // matrix
// As a list, for many labels.
[[nodiscard]] Section confusions_section(const ClassDetail& detail, const Tally& tally);
[[nodiscard]] Section classes_section(const ClassDetail& detail);  // precision, recall, F1

// Returns all of them. `tally`: null if a sample has several labels.
[[nodiscard]] Sections class_sections(const ClassDetail& detail, const Tally* tally);

}  // namespace bp::trainer
