// metrics.jsonl: how a run went, one JSON object a line, appended as it goes.
//
//   {"step":50,"epoch":0.24,"samples":3200,"loss":0.61,"lr":0.0001,"grad_norm":1.3,
//    "skipped":0,"samples_per_s":410.2,"tokens_per_s":8204.1,"compute_ms":140.2,"comm_exposed_ms":3.1,
//    "data_wait_ms":0.2,"comm":{"operations":12,"bytes":48000,"seconds_busy":0.02,
//    "seconds_waiting":0.01,"kinds":[{"operation":"all_reduce","algorithm":"direct", and the four
//    as before}]}}
//   {"step":200,"epoch":1,"samples":12800,"split":"dev","loss":0.43,"accuracy":0.81,"mcc":0.62,
//    "f1_macro":0.81,"log_loss":0.43}
//
// JSON knows no NaN and no infinity: such a value is written as null, and the line gets a last key
// that says what it was: "not_finite":{"loss":"nan"}.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "bp/activity.h"
#include "trainer/report/scores.h"

namespace bp::trainer {

// What a logged step is said to have done. Rates and times are of the whole world and of the steps
// since the last logged one: times are per step, those of the rank that logs.
struct StepRecord {
  std::int64_t step = 0;     // steps done so far, skipped ones included
  double epoch = 0;          // passes over the train split done so far: 1.5 is amid the second
  std::int64_t samples = 0;  // trained on so far, by all ranks
  double loss = 0;           // mean over the samples since the last logged step, of all ranks
  double lr = 0;
  double grad_norm = 0;      // before clipping
  std::int64_t skipped = 0;  // steps since the last logged one that made no update
  double samples_per_s = 0;
  double tokens_per_s = 0;
  double compute_ms = 0;
  double comm_exposed_ms = 0;  // waiting for communication that no computation hid
  double data_wait_ms = 0;
  // What the communicator of the rank that logs did since the last logged step, evaluations too.
  Counters comm = {};
};

// The keys of summary.json's "dev" and "test".
struct EvaluationSummary {
  double loss = 0;
  double accuracy = 0;
  double mcc = 0;
  double f1_macro = 0;
  double log_loss = 0;
};
// Not-a-numbers, which JSON has as null, where no sample had a label.
[[nodiscard]] EvaluationSummary summary_of(const Scores& scores);

struct EvaluationRecord {
  std::int64_t step = 0;
  double epoch = 0;
  std::int64_t samples = 0;
  std::string split = {};  // "dev"
  EvaluationSummary result = {};
};

[[nodiscard]] std::string to_json_line(const StepRecord& record);  // ends with a line feed
[[nodiscard]] std::string to_json_line(const EvaluationRecord& record);

// One process writes a file. Each line is one write(2) with O_APPEND, so a reader never sees two
// lines mixed and a kill leaves at most one unfinished line, at the end.
class MetricsWriter {
 public:
  // Goes on after `resumed_step`: what the file holds of later steps (done again by the resumed
  // run) and an unfinished last line are dropped. 0 begins an empty file. Throws io, naming path.
  explicit MetricsWriter(const std::string& path, std::int64_t resumed_step = 0);

  void write(const StepRecord& record);  // throws io
  void write(const EvaluationRecord& record);

 private:
  void append(const std::string& line);

  std::string path_;
  Fd file_;
};

struct Metrics {
  std::vector<StepRecord> steps = {};
  std::vector<EvaluationRecord> evaluations = {};
};
// Keys that are not known are passed over, as is an unfinished last line. Throws io when the file
// cannot be read, invalid_argument naming the line when it is not such a file.
[[nodiscard]] Metrics read_metrics(const std::string& path);

}  // namespace bp::trainer
