// The scores of a predictions.csv. Its probabilities have six decimals, so scores of probabilities
// may differ from those of the run in the seventh.
#pragma once

#include <string>
#include <vector>

#include "trainer/report/evaluation_summary.h"

namespace bp::trainer {

struct FileToScore {
  std::string path = {};
  std::string name = {};     // of what is scored: "test"
  bool multi_label = false;  // known to have any number of labels a row; else the rows tell
};

struct ScoredFile {
  EvaluationSummary summary = {};
  std::vector<std::string> lines = {};  // for the terminal; tables end with a line feed
  std::string sections = {};            // for a page, as HTML
};

// Scores labels (one or any number a row) and numbers. Throws InputError: 66 if the file cannot be
// read, 65 with the line if it is damaged, or if its columns cannot be scored.
[[nodiscard]] ScoredFile score_file(const FileToScore& file);

// Returns whether score_file() can score a file with these columns.
[[nodiscard]] bool can_score(const std::string& path);

}  // namespace bp::trainer
