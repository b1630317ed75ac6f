// An axis of a chart: where a value lies on it, and what stands beside it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/report/chart.h"
#include "launcher/sweep/state/trial_record.h"

namespace bp::launcher::sweep {

class PlotAxis {
 public:
  // Of numbers that are finite. They lie on a logarithmic axis if all are above 0 and the largest
  // is at least 100 times the smallest.
  [[nodiscard]] static PlotAxis of_numbers(const std::vector<double>& numbers, bool may_be_log);
  // Returns the axis of the values of one parameter: a position for each if one is not a number or
  // there are at most six, otherwise numbers.
  [[nodiscard]] static PlotAxis of_parameter(const std::vector<TrialRecord>& trials,
                                             const std::string& name);

  // From 0 to 1; nullopt for nullptr.
  [[nodiscard]] std::optional<double> position(const Value* value) const;
  [[nodiscard]] double position(double number) const;
  [[nodiscard]] bool has_categories() const { return !categories_.empty(); }
  // Positions and texts, from 0 upwards.
  [[nodiscard]] std::vector<Tick> ticks() const;

 private:
  double low_ = 0;
  double high_ = 1;
  bool log_ = false;
  std::vector<Value> categories_;
};

}  // namespace bp::launcher::sweep
