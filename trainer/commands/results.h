// What a scored split shows: on the terminal, as predictions.csv, in the report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainer/data/sample_store.h"
#include "trainer/report/report.h"
#include "trainer/train/evaluate.h"

namespace bp::trainer {

struct Scored {
  const Evaluation& evaluation;
  const SampleStore& store;
  Split split = Split::test;
  const std::vector<int>& label_map;
  const std::vector<std::string>& labels;  // the model's
  std::string name = name_of(split);       // of what was scored, for a person
  std::string predictions = {};            // where they are; empty: nowhere
};

// The split on which a finished model is judged: test, or dev where there is no test.
[[nodiscard]] std::optional<Split> judged_split(const SampleStore& store);

// To stdout, with a line feed.
void print_line(const std::string& text);
// Accuracy and other scores, the confusion matrix and the scores of each class; where no sample has
// a label, that, and where the predictions are.
void print_scores(const Scored& scored);

// predictions.csv: every sample of the split once, in order.
void write_predictions(const std::string& path, const Scored& scored);

[[nodiscard]] std::vector<WorstRow> worst_rows(const Scored& scored);

}  // namespace bp::trainer
