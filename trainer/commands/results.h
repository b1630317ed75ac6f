// The results of a scored split on the terminal, and what a finished run leaves on rank 0: files of
// results, the report, and lines on the terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bp/topology.h"
#include "trainer/commands/answer.h"
#include "trainer/options/options.h"
#include "trainer/report/predictions.h"
#include "trainer/report/sessions.h"
#include "trainer/report/summary.h"
#include "trainer/run/run_folder.h"
#include "trainer/runs/run_record.h"
#include "trainer/store/sample_store.h"
#include "trainer/tasks/task.h"
#include "trainer/train/loop/loop.h"

namespace bp::trainer {

// Returns the split that rates a finished model: test, or dev if there is no test.
[[nodiscard]] std::optional<Split> judged_split(const SampleStore& store);

// Returns the split that `--on name` chooses; for an empty name the one that is judged, or train.
// Throws InputError: 2 for another name, 65 if the split is empty.
[[nodiscard]] Split chosen_split(const std::string& name, const SampleStore& store);

struct ScoredSplit {
  const SampleStore& store;
  Split split = Split::test;
  std::string name = {};  // as the terminal calls it
};
// Prints the task's lines, and what the scores count. See Scorer::lines().
void print_results(const Scorer& scorer, const ScoredSplit& scored, const std::string& predictions);

// All must outlive the object.
struct TrainResults {
  const RunSettings& settings;
  const RunFolder& folder;
  const SampleStore& store;
  const Task& task;
  const MainScore& metric;  // compares evaluations
  std::vector<RunHost> hosts = {};
};

[[nodiscard]] std::vector<RunHost> hosts_of(const Topology& topology);

// Returns the split that training evaluates.
[[nodiscard]] Split evaluated_split(const RunSettings& settings);

// Returns what the training itself says of the run. The model is taken to be that of the last step.
[[nodiscard]] RunSummary summary_of(const RunSettings& settings,
                                    const TrainResult& trained,
                                    const Topology& topology);

// Writes the predictions of a split and the task's files, and prints the scores.
void write_results(const TrainResults& run, const Scorer& scorer, Split split);

// Writes summary.json and then report.html. If the report exists, all other files do, even after a
// power cut; the caller has synced those that grow. `scorer`: of the split that judges the run;
// null if it has none.
void write_report(const TrainResults& run, RunSummary summary, const Scorer* scorer);

// Adds the run in `folder` to the database of --runs-db, unless `database` is empty. A problem is
// only a warning: it must not lose the run.
void store_in_database(const std::string& database,
                       const std::string& folder,
                       RunState state,
                       const std::vector<PredictionColumn>& columns);

}  // namespace bp::trainer
