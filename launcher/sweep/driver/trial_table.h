// All trials of a sweep, in memory and in sweep.sqlite: each change goes to both.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "launcher/sweep/space/metric.h"
#include "launcher/sweep/space/trial.h"
#include "launcher/sweep/state/sweep_state.h"
#include "launcher/sweep/state/trial_record.h"

namespace bp::launcher::sweep {

class TrialTable {
 public:
  // Reads what an earlier sweep in this folder left. `state` must outlive this.
  TrialTable(SweepState& state, Direction direction);

  [[nodiscard]] int size() const { return static_cast<int>(records_.size()); }
  [[nodiscard]] const TrialRecord& operator[](int trial) const { return records_.at(at(trial)); }
  [[nodiscard]] std::span<const TrialHistory> histories() const { return histories_; }
  // The histories of one block, in the order of its indices; valid until the next call.
  [[nodiscard]] std::span<const TrialHistory> histories_of(int block);
  [[nodiscard]] int count(TrialState state) const {
    return counts_.at(static_cast<std::size_t>(state));
  }
  [[nodiscard]] const TrialRecord* best() const;  // null if no trial has reported

  int add(const TrialPlan& plan);  // returns its number
  // Changes a record and saves it: `change` gets the record.
  template <class Change>
  void update(int trial, Change change) {
    TrialRecord& record = records_.at(at(trial));
    change(record);
    saved(record);
  }
  // Adds the reports, one after the other. `decide` is called after each one of a step that the
  // trial had not reported, until it returns a reason to stop the trial; it may look at the
  // histories. A reason goes into the record's `asked`, before `sweep_ends` but after any other.
  // Reports and reason are saved together, so that every report on disk has had its decision.
  void report(int trial,
              const std::vector<Report>& reports,
              const std::function<StopReason()>& decide);

 private:
  [[nodiscard]] static std::size_t at(int trial) { return static_cast<std::size_t>(trial); }
  void saved(const TrialRecord& record);
  bool take(TrialHistory& history, const Report& report);  // whether its step is new
  void adopt(TrialRecord record);
  void compare(int number);  // with the best
  void find_best();

  SweepState& state_;
  Direction direction_;
  std::vector<TrialRecord> records_;
  std::vector<TrialHistory> histories_;  // by number, as records_
  std::vector<TrialHistory> of_block_;
  std::vector<int> counts_;
  int best_ = -1;
};

}  // namespace bp::launcher::sweep
