// What rank 0 tells about training while it goes: metrics.jsonl and the progress line.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "trainer/report/metrics.h"
#include "trainer/report/progress.h"
#include "trainer/report/summary.h"

namespace bp::trainer {

// One step, as the loop measured it.
struct StepFacts {
  std::int64_t samples = 0;  // of all ranks
  std::int64_t tokens = 0;
  double epoch = 0;  // done by the end of the step
  double loss = 0;
  double lr = 0;
  double grad_norm = 0;
  std::chrono::duration<double> data_wait{0};
  std::chrono::duration<double> exposed{0};  // waiting for communication
  std::chrono::duration<double> total{0};
};

// On other ranks than 0 it only counts.
class TrainLog {
 public:
  // `metrics` is the file to write; empty on ranks that write nothing.
  TrainLog(const std::string& metrics, std::int64_t steps);

  void step(const StepFacts& facts);
  // After an evaluation; its time is no training.
  void evaluated(const std::string& split, const EvaluationSummary& result);
  void say(const std::string& text);
  void finish();

  [[nodiscard]] TrainSummary summary() const;
  [[nodiscard]] double seconds_exposed() const { return exposed_total_; }
  [[nodiscard]] std::int64_t steps_done() const { return done_; }
  [[nodiscard]] double epochs_done() const { return epoch_; }

 private:
  void write_record(const StepFacts& last);

  std::int64_t steps_;
  std::int64_t every_;  // steps in a record
  std::unique_ptr<MetricsWriter> metrics_;
  std::unique_ptr<Progress> progress_;

  std::int64_t done_ = 0;
  double epoch_ = 0;
  std::int64_t samples_ = 0;
  std::int64_t tokens_ = 0;
  double seconds_ = 0;
  double exposed_total_ = 0;
  double last_loss_ = 0;

  // Since the last record.
  struct Sums {
    std::int64_t steps = 0;
    std::int64_t samples = 0;
    std::int64_t tokens = 0;
    double loss = 0;  // times samples
    double data_wait = 0;
    double exposed = 0;
    double total = 0;
  };
  Sums sums_;
};

}  // namespace bp::trainer
