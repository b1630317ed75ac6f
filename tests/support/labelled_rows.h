// Rows with labels, for tests of scores.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "trainer/tasks/classify/labelled_rows.h"
#include "trainer/tasks/classify/scores.h"

namespace bp::trainer {

using Counts = std::vector<std::vector<int>>;  // [true, predicted]

// Returns rows with one label each. The labels have the names "0", "1", ...
inline LabelledRows rows_of(const Counts& counts) {
  LabelledRows rows;
  for (int i = 0; i < static_cast<int>(counts.size()); ++i) {
    rows.labels.push_back(std::to_string(i));
    for (int j = 0; j < static_cast<int>(counts.size()); ++j) {
      const int number = counts[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
      for (int n = 0; n < number; ++n) {
        rows.answers.add(std::span(&i, 1));
        rows.predictions.add(std::span(&j, 1));
      }
    }
  }
  return rows;
}

inline Tally tally_of(const Counts& counts) { return Tally(rows_of(counts)); }

// Their losses are 0.
inline Scores scores_of(const Counts& counts) { return scores_of(rows_of(counts), LossSum(false)); }

using Sets = std::vector<std::vector<bool>>;  // [rows, labels]

inline void add_sets(const Sets& sets, LabelSets& to) {
  for (const std::vector<bool>& row : sets) {
    std::vector<int> labels;
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (row[k]) labels.push_back(static_cast<int>(k));
    }
    to.add(labels);
  }
}

// Returns rows with any number of labels.
inline LabelledRows rows_of(const std::vector<std::string>& labels,
                            const Sets& answers,
                            const Sets& predictions) {
  LabelledRows rows{.labels = labels, .several = true};
  add_sets(answers, rows.answers);
  add_sets(predictions, rows.predictions);
  return rows;
}

}  // namespace bp::trainer
