// The sections of report.html about the results of a classifier that gives a sample any number of
// labels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/report/error_rows.h"
#include "trainer/tasks/classify/label_scores.h"

namespace bp::trainer {

// A sample that the model got wrong, or nearly so.
struct WorstLabelRow {
  std::int64_t sample_id = 0;
  std::int64_t text_id = 0;
  double loss = 0;  // mean over the labels
  std::string answers = {};
  std::string predictions = {};
  std::string text = {};
};

// Inserts a row, and keeps those with the highest losses. Of equal ones it keeps the first.
void keep_worst(std::vector<WorstLabelRow>& worst, WorstLabelRow row);

// The detailed result of one split.
struct LabelDetail {
  std::string split = {};  // "test"
  std::vector<std::string> labels = {};
  LabelScores scores = {};
  std::vector<WorstLabelRow> worst = {};
};

[[nodiscard]] ErrorRows error_rows(const LabelDetail& detail);
[[nodiscard]] std::string label_sections(const LabelDetail& detail);

}  // namespace bp::trainer
