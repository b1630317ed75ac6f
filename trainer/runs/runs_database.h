// --runs-db: an SQLite file with the results of many runs.
//
//   runs         one row for each run: path, state, scores of the training, date, machine
//   settings     the options of each run
//   evaluations  each score of each evaluation
//   predictions  each row of predictions.csv, as JSON
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "trainer/report/predictions.h"
#include "trainer/runs/run_record.h"

namespace bp::trainer {

// Throws InputError (2) if the file exists and is not one of this kind. A file that another process
// is writing may be of any kind. Writes nothing.
void check_runs_database(const std::string& path);

struct RunToStore {
  RunRecord run = {};
  // Those of predictions.csv behind the ids; empty: the run has no predictions.
  std::vector<PredictionColumn> columns = {};
};

// Adds the run in one transaction, and replaces what the file has about an earlier state of it: the
// same folder, begun at the same time. Waits until `patience` is over for other processes that
// write the file. Throws an exception if that or the file fails; the file is then as before.
void store_run(const std::string& path,
               const RunToStore& stored,
               std::chrono::milliseconds patience = std::chrono::seconds(20));

}  // namespace bp::trainer
