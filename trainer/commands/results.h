// The results of a scored split: on the terminal, in predictions.csv and in the report.
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
  std::string name = name_of(split);       // what was scored, as the output calls it
  std::string predictions = {};            // the file that holds them; empty: none
};

// Returns the split that rates a finished model: test, or dev if there is no test.
[[nodiscard]] std::optional<Split> judged_split(const SampleStore& store);

// Writes to stdout, with a line feed.
void print_line(const std::string& text);
// Prints accuracy and other scores, the confusion matrix and the scores of each class. If no sample
// has a label, it prints that, and where the predictions are.
void print_scores(const Scored& scored);

// Writes predictions.csv: every sample of the split once, in the store's order.
void write_predictions(const std::string& path, const Scored& scored);

[[nodiscard]] std::vector<WorstRow> worst_rows(const Scored& scored);

}  // namespace bp::trainer
