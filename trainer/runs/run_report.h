// The report of one run from the files in its folder, without its data and model.
#pragma once

#include <string>

#include "trainer/report/report.h"
#include "trainer/runs/run_record.h"
#include "trainer/tasks/scored_file.h"

namespace bp::trainer {

// Returns the scores of the run's predictions; nothing without a predictions.csv that can be
// scored. Throws InputError (65) if it is damaged.
[[nodiscard]] ScoredFile score_predictions(const RunRecord& run);

// For a terminal: what the run is, its scores, and the tables of its predictions.
[[nodiscard]] std::string run_text(const RunRecord& run, const ScoredFile& scored);
// For a page, as at the end of training. It has no texts of the data.
[[nodiscard]] Report report_of(const RunRecord& run, const ScoredFile& scored);

}  // namespace bp::trainer
