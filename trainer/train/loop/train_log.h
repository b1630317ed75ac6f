// Reports the training on rank 0: metrics.jsonl and the progress line.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bp/activity.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/events/event_log.h"
#include "trainer/report/metrics.h"
#include "trainer/report/progress.h"
#include "trainer/report/summary.h"

namespace bp::trainer {

// The measurements of one step.
struct StepFacts {
  std::int64_t samples = 0;  // of all ranks
  std::int64_t tokens = 0;
  double epoch = 0;  // done by the end of the step
  double loss = 0;
  double lr = 0;
  double grad_norm = 0;
  bool skipped = false;                 // the step made no update, because its gradient overflowed
  double loss_scale = 0;                // with which the step was computed; 0: none
  std::int64_t split_batches = 0;       // of all ranks, for want of memory
  std::vector<std::int64_t> rows = {};  // of each rank; empty: equal shares
  std::chrono::duration<double> data_wait{0};
  std::chrono::duration<double> exposed{0};  // waiting for communication
  std::chrono::duration<double> total{0};
  std::int64_t gradient_bytes = 0;  // all-reduced by this rank
  Counters comm = {};               // the communicator's, of its whole life
};

// On ranks other than 0 it only counts.
class TrainLog {
 public:
  // `metrics`: the file to write; empty on ranks that write nothing. `steps`: of the whole run.
  // `done`: the steps that earlier parts of the run made, with `before` as their totals; lines of
  // later steps are removed. `comm`: the communicator's counters before training. `events`: gets
  // the same records, if there is one; it must outlive this object. `every`: the steps from one
  // record to the next; 0: so that a run has some hundreds.
  TrainLog(const std::string& metrics,
           std::int64_t steps,
           std::int64_t done,
           const RunTotals& before,
           const Counters& comm = {},
           EventLog* events = nullptr,
           std::int64_t every = 0);

  // Whether step() writes a record after this step: the same on all ranks.
  [[nodiscard]] bool records(std::int64_t step) const;
  // Takes what steps up to this one reported, summed over ranks (FigureSums). Call it before step()
  // for a step that is recorded.
  void figures(const std::vector<Figure>& sums, double epoch);
  void step(const StepFacts& facts);
  // Records an evaluation. Its time does not count as training.
  void evaluated(double epoch,
                 const std::string& split,
                 const EvaluationSummary& result,
                 const MainScore& main);
  void say(const std::string& text);
  void resume_clock();  // the time since the last step does not count as training
  void finish();

  [[nodiscard]] TrainSummary summary() const;
  [[nodiscard]] const RunTotals& totals() const { return totals_; }

 private:
  void tell_skipped(const StepFacts& facts);
  void write_record(const StepFacts& last);
  template <class Record>
  void write(const Record& record);

  std::int64_t steps_;
  std::int64_t every_;  // number of steps in a record
  std::unique_ptr<MetricsWriter> metrics_;
  std::unique_ptr<Progress> progress_;
  EventLog* events_;

  std::int64_t done_;
  RunTotals totals_;

  // Since the last record.
  struct Sums {
    std::int64_t steps = 0;
    std::int64_t samples = 0;
    std::int64_t tokens = 0;
    std::int64_t skipped = 0;
    std::int64_t split_batches = 0;
    std::int64_t losses = 0;  // samples whose loss is in the next sum
    double loss = 0;          // times samples
    double data_wait = 0;
    double exposed = 0;
    double total = 0;
    std::vector<Figure> figures = {};
  };
  Sums sums_;
  Counters recorded_;  // the communicator's at the last record
};

}  // namespace bp::trainer
