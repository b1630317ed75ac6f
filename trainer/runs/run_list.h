// The runs in a folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainer/runs/run_record.h"

namespace bp::trainer {

struct ListedRun {
  std::string name = {};
  std::optional<RunRecord> record = {};  // none if the run cannot be read
  std::string problem = {};              // why
};

// Returns the runs in `folder`, by name, or the run that `folder` is. Leaves out folders that have
// no file of a run. Throws InputError (66) if there is no such folder.
[[nodiscard]] std::vector<ListedRun> list_runs(const std::string& folder);

// Sorts by a score, the best one first, or by name, state, date, steps or time. Runs without the
// value come last. Throws InputError (2) with the nearest name if no run has such a score.
void sort_runs(std::vector<ListedRun>& runs, const std::string& by);

// Each run has one line. `metric`: the score to show; empty: each run's main score. `columns`: see
// terminal_text().
[[nodiscard]] std::string runs_text(const std::vector<ListedRun>& runs,
                                    const std::string& metric,
                                    int columns = 0);
[[nodiscard]] std::string runs_csv(const std::vector<ListedRun>& runs, const std::string& metric);
[[nodiscard]] std::string runs_json(const std::vector<ListedRun>& runs, const std::string& metric);

// Returns whether `by` is a score and none of the other things to sort by.
[[nodiscard]] bool sorts_by_score(const std::string& by);

}  // namespace bp::trainer
