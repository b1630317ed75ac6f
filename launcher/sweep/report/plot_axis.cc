#include "launcher/sweep/report/plot_axis.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/report/escape.h"

namespace bp::launcher::sweep {
namespace {

constexpr std::size_t kMostTicks = 6;  // of categories; more numbers get a scale

}  // namespace

PlotAxis PlotAxis::of_numbers(const std::vector<double>& numbers, bool may_be_log) {
  PlotAxis axis;
  if (numbers.empty()) return axis;
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  axis.log_ = may_be_log && *low > 0 && *high / *low >= 100;
  axis.low_ = axis.log_ ? std::log10(*low) : *low;
  axis.high_ = axis.log_ ? std::log10(*high) : *high;
  const double margin = axis.high_ > axis.low_ ? (axis.high_ - axis.low_) * 0.04
                                               : std::max(std::abs(axis.low_) * 0.1, 1e-9);
  axis.low_ -= margin;
  axis.high_ += margin;
  return axis;
}

PlotAxis PlotAxis::of_parameter(const std::vector<TrialRecord>& trials, const std::string& name) {
  std::vector<Value> values;
  bool all_numbers = true;
  std::vector<double> numbers;
  for (const TrialRecord& trial : trials) {
    const Value* value = find_value(trial.parameters, name);
    if (value == nullptr) continue;
    all_numbers &= value->is_number();
    numbers.push_back(value->number());
    if (values.size() > 100 && all_numbers) continue;  // enough to know that they are many
    if (std::find(values.begin(), values.end(), *value) == values.end()) values.push_back(*value);
  }
  if (all_numbers && values.size() > kMostTicks) return of_numbers(numbers, true);
  PlotAxis axis;
  std::sort(values.begin(), values.end(), [&](const Value& a, const Value& b) {
    return all_numbers ? a.number() < b.number() : a.text() < b.text();
  });
  axis.categories_ = std::move(values);
  return axis;
}

double PlotAxis::position(double number) const {
  const double x = log_ ? std::log10(number) : number;
  return (x - low_) / (high_ - low_);
}

std::optional<double> PlotAxis::position(const Value* value) const {
  if (value == nullptr) return std::nullopt;
  if (!has_categories()) return position(value->number());
  const auto found = std::find(categories_.begin(), categories_.end(), *value);
  if (found == categories_.end()) return std::nullopt;
  return (static_cast<double>(found - categories_.begin()) + 0.5) /
         static_cast<double>(categories_.size());
}

std::vector<Tick> PlotAxis::ticks() const {
  std::vector<Tick> found;
  if (has_categories()) {
    const std::size_t every = (categories_.size() + kMostTicks - 1) / kMostTicks;
    for (std::size_t i = 0; i < categories_.size(); i += every) {
      found.push_back({position(&categories_[i]).value(), categories_[i].text()});
    }
    return found;
  }
  const double decades = std::max(1.0, std::ceil((high_ - low_) / 5));
  std::vector<double> places;
  for (double x = std::ceil(low_ / decades) * decades; log_ && x <= high_; x += decades) {
    places.push_back(x);
  }
  if (!log_) places = round_ticks({.low = low_, .high = high_}, 5);
  for (const double x : places) {
    found.push_back({(x - low_) / (high_ - low_), brief(log_ ? std::pow(10.0, x) : x, 6)});
  }
  return found;
}

}  // namespace bp::launcher::sweep
