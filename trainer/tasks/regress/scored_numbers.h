// Scores the numbers of a predictions.csv.
#pragma once

#include <optional>

#include "trainer/report/csv_rows.h"
#include "trainer/tasks/scored_file.h"

namespace bp::trainer {

// As TaskInput::score().
[[nodiscard]] std::optional<ScoredFile> score_numbers(const FileToScore& file, CsvRows& rows);

}  // namespace bp::trainer
