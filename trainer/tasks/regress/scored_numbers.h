// Scores the numbers of a predictions.csv.
#pragma once

#include <optional>

#include "trainer/tasks/scored_file.h"

namespace bp::trainer {

class CsvRows;

// As TaskInput::score().
[[nodiscard]] std::optional<ScoredFile> score_numbers(const FileToScore& file, CsvRows& rows);

}  // namespace bp::trainer
