#include "launcher/sweep/driver/trial_table.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace bp::launcher::sweep {

TrialTable::TrialTable(SweepState& state, Direction direction)
    : state_(state), direction_(direction), counts_(kTrialStates) {
  for (TrialRecord& record : state.trials()) {
    adopt(std::move(record));
  }
  state.each_report([this](int trial, std::int64_t step, double value) {
    if (trial >= 0 && trial < size()) take(histories_[at(trial)], {step, value});
  });
}

void TrialTable::adopt(TrialRecord record) {
  histories_.push_back(
      {.index = record.index, .parameters = record.parameters, .state = record.state});
  ++counts_.at(static_cast<std::size_t>(record.state));
  records_.push_back(std::move(record));
}

std::span<const TrialHistory> TrialTable::histories_of(int block) {
  if (std::ranges::all_of(records_, [&](const TrialRecord& it) { return it.block == block; })) {
    return histories_;
  }
  of_block_.clear();
  for (const TrialRecord& record : records_) {
    if (record.block == block) of_block_.push_back(histories_[at(record.number)]);
  }
  return of_block_;
}

const TrialRecord* TrialTable::best() const { return best_ < 0 ? nullptr : &records_[at(best_)]; }

int TrialTable::add(const TrialPlan& plan) {
  TrialRecord record;
  record.number = size();
  record.block = plan.block;
  record.index = plan.index;
  record.repeat = plan.repeat;
  record.parameters = plan.parameters;
  state_.save(record);
  adopt(record);
  return record.number;
}

void TrialTable::saved(const TrialRecord& record) {
  TrialState& known = histories_[at(record.number)].state;
  --counts_.at(static_cast<std::size_t>(known));
  known = record.state;
  ++counts_.at(static_cast<std::size_t>(known));
  state_.save(record);
  compare(record.number);
  if (best_ == record.number && !may_be_best(known)) find_best();
}

void TrialTable::compare(int number) {
  const TrialHistory& trial = histories_[at(number)];
  if (!trial.result || !may_be_best(trial.state)) return;
  if (best_ < 0 || is_better(direction_, *trial.result, *histories_[at(best_)].result)) {
    best_ = number;
  }
}

void TrialTable::find_best() {
  best_ = -1;
  for (int i = 0; i < size(); ++i) compare(i);
}

// Reports are ordered by step. One of a step that the trial has repeated replaces the earlier one.
bool TrialTable::take(TrialHistory& history, const Report& report) {
  auto& reports = history.reports;
  const auto place = std::ranges::lower_bound(reports, report.step, {}, &Report::step);
  const bool known = place != reports.end() && place->step == report.step;
  if (known) {
    place->value = report.value;
  } else {
    reports.insert(place, report);
  }
  if (!history.result || is_better(direction_, report.value, *history.result)) {
    history.result = report.value;
    history.result_step = report.step;
  }
  compare(static_cast<int>(&history - histories_.data()));
  return !known;
}

void TrialTable::report(int trial,
                        const std::vector<Report>& reports,
                        const std::function<StopReason()>& decide) {
  TrialHistory& history = histories_[at(trial)];
  TrialRecord& record = records_[at(trial)];
  for (const Report& report : reports) {
    const bool is_open = record.asked == StopReason::none || record.asked == StopReason::sweep_ends;
    if (!take(history, report) || !is_open) continue;
    if (const StopReason reason = decide(); reason != StopReason::none) record.asked = reason;
  }
  record.result = history.result;
  record.result_step = history.result_step;
  record.step = history.reports.back().step;
  state_.report(record, reports);
}

}  // namespace bp::launcher::sweep
