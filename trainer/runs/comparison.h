// Several runs side by side, as text and as a page.
#pragma once

#include <string>
#include <vector>

#include "base/report/report_table.h"
#include "trainer/runs/run_record.h"

namespace bp::trainer {

// Returns a row for each run: name, state, main score (best and last on dev, and on test), loss,
// steps, time, rows per second.
[[nodiscard]] Table compared_runs(const std::vector<RunRecord>& runs);
// Returns a row for each setting that not all runs share, and a column for each run.
[[nodiscard]] Table differing_settings(const std::vector<RunRecord>& runs);

// For a terminal of this width; 0: any width.
[[nodiscard]] std::string comparison_text(const std::vector<RunRecord>& runs, int columns = 0);
// Needs no other file. Of many runs, its charts show kMostRunColours: those with the best scores.
[[nodiscard]] std::string comparison_page(const std::vector<RunRecord>& runs);

// Returns the shortest ends of the paths that differ: "a" for runs/a, "x/a" beside y/a.
[[nodiscard]] std::vector<std::string> short_names(const std::vector<RunRecord>& runs);

// Returns "1:12"; "-" for no time.
[[nodiscard]] std::string duration_text(double seconds);

}  // namespace bp::trainer
