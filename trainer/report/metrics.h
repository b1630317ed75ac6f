// metrics.jsonl: the course of a run, one JSON object per line, appended as the run proceeds.
//
//   {"step":50,"epoch":0.24,"samples":3200,"loss":0.61,"lr":0.0001,"grad_norm":1.3,
//    "skipped":0,"samples_per_s":410.2,"tokens_per_s":8204.1,"compute_ms":140.2,"comm_exposed_ms":3.1,
//    "data_wait_ms":0.2,"comm":{"operations":12,"bytes":48000,"seconds_busy":0.02,
//    "seconds_waiting":0.01,"kinds":[{"operation":"all_reduce","algorithm":"direct", and the four
//    keys above}]}}
//   {"step":200,"epoch":1,"samples":12800,"split":"dev","loss":0.43,"accuracy":0.81,"mcc":0.62,
//    "f1_macro":0.81,"log_loss":0.43}
//
// A run whose steps report figures (bp::Figure) also has "figures":{"masked_accuracy":0.31}, after
// "loss_scale".
//
// JSON has no NaN and no infinity. Such a value is written as null, and the line gets a last key
// that names the value: "not_finite":{"loss":"nan"}. A figure is "figures.NAME" there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/system/fd.h"
#include "bp/activity.h"
#include "trainer/report/evaluation_summary.h"
#include "trainer/report/figures.h"

namespace bp::trainer {

// The record of a logged step. Rates and times cover the steps since the last logged one. Rates are
// those of the whole world; times are means per step on the rank that logs.
struct StepRecord {
  std::int64_t step = 0;  // steps so far, with skipped ones
  double epoch = 0;       // passes over the train split so far; 1.5 is in the middle of the second
  std::int64_t samples = 0;  // samples trained on so far, by all ranks
  double loss = 0;           // mean over the samples of all ranks since the last logged step
  double lr = 0;
  double grad_norm = 0;      // before clipping
  std::int64_t skipped = 0;  // steps since the last logged one without an update
  double loss_scale = 0;     // with which the step was computed; 0: none, and then no key
  // Micro-batches of all ranks since the last logged step that were computed in pieces, since there
  // was too little memory; 0: no key.
  std::int64_t split_batches = 0;
  std::vector<std::int64_t> rows = {};  // of the step, by rank; empty with equal shares: no key
  FigureMeans figures = {};             // over the steps since the last logged one; empty: no key
  double samples_per_s = 0;
  double tokens_per_s = 0;
  double compute_ms = 0;
  double comm_exposed_ms = 0;  // time of waiting for communication that no computation hid
  double data_wait_ms = 0;
  // The counters of the logging rank's communicator since the last logged step, evaluations
  // included.
  Counters comm = {};
};

struct EvaluationRecord {
  std::int64_t step = 0;
  double epoch = 0;
  std::int64_t samples = 0;
  std::string split = {};  // "dev"
  EvaluationSummary result = {};
};

[[nodiscard]] std::string to_json_line(const StepRecord& record);  // both end with a line feed
[[nodiscard]] std::string to_json_line(const EvaluationRecord& record);

// Writes the file, of which only one process may be the writer. Each line is one write(2) with
// O_APPEND, so a reader never sees two lines mixed, and a kill leaves at most one unfinished line,
// at the end.
class MetricsWriter {
 public:
  // Opens the file to continue after `resumed_step`. Drops the lines of later steps, which the
  // resumed run repeats, and an unfinished last line. 0 starts an empty file. Throws io, naming
  // `path`.
  explicit MetricsWriter(const std::string& path, std::int64_t resumed_step = 0);

  void write(const StepRecord& record);  // both throw io
  void write(const EvaluationRecord& record);

 private:
  void append(const std::string& line);

  std::string path_;
  Fd file_;
};

struct Metrics {
  std::vector<StepRecord> steps = {};
  std::vector<EvaluationRecord> evaluations = {};

  // Returns the best evaluation of the dev split; null without one.
  [[nodiscard]] const EvaluationRecord* best_dev(const MainScore& main) const;
};
// Reads the file. Skips unknown keys and an unfinished last line. Throws io if the file cannot be
// read, and invalid_argument naming the line if it is not a metrics file.
[[nodiscard]] Metrics read_metrics(const std::string& path);

}  // namespace bp::trainer
