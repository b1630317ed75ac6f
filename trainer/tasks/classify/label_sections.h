// The sections of report.html about the results of a classifier that gives a sample any number of
// labels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/tasks/classify/label_scores.h"

namespace bp::trainer {

// A sample that the model got wrong, or nearly so.
struct WorstLabelRow {
  std::int64_t text_id = 0;
  double loss = 0;  // mean over the labels
  std::string answers = {};
  std::string predictions = {};
  std::string text = {};
};

// The detailed result of one split.
struct LabelDetail {
  std::string split = {};  // "test"
  std::vector<std::string> labels = {};
  LabelScores scores = {};
  std::vector<WorstLabelRow> worst = {};
};

[[nodiscard]] std::string label_sections(const LabelDetail& detail);

}  // namespace bp::trainer
