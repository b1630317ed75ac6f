// Scores the labels of a predictions.csv.
#pragma once

#include <optional>

#include "trainer/tasks/scored_file.h"

namespace bp::trainer {

class CsvRows;

// As TaskInput::score(). The rows have one label each, or any number of labels.
[[nodiscard]] std::optional<ScoredFile> score_labels(const FileToScore& file, CsvRows& rows);

}  // namespace bp::trainer
