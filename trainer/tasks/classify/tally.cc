#include "trainer/tasks/classify/tally.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "base/text.h"
#include "bp/error.h"

namespace bp::trainer {
namespace {

// Losses are summed in units of 2^-30. The sum of integers does not depend on the order, and there
// is room for 8 million samples at kLargestLoss.
constexpr double kUnitsPerNat = 1 << 30;
constexpr std::size_t kExtraValues = 2;

std::size_t squared(int classes) {
  const auto side = static_cast<std::size_t>(classes);
  return side * side;
}

}  // namespace

Tally::Tally(int classes) : classes_(classes) {
  if (classes < 2) {
    throw Error(ErrorCode::invalid_argument,
                concat("evaluation of ", classes, " class(es): at least two are needed"));
  }
  values_.resize(squared(classes) + kExtraValues);
}

std::size_t Tally::place(const Cell& cell) const {
  const auto inside = [&](int index) { return index >= 0 && index < classes_; };
  if (!inside(cell.label) || !inside(cell.prediction)) {
    throw Error(ErrorCode::invalid_argument,
                concat("label ", cell.label, " with prediction ", cell.prediction,
                       ": classes are 0 to ", classes_ - 1));
  }
  return static_cast<std::size_t>(cell.label) * static_cast<std::size_t>(classes_) +
         static_cast<std::size_t>(cell.prediction);
}

void Tally::add(const Result& result) {
  ++values_[place({.label = result.label, .prediction = result.prediction})];
  if (std::isnan(result.loss)) {
    ++values_[squared(classes_) + 1];
  } else {
    const double loss = std::clamp(result.loss, -kLargestLoss, kLargestLoss);
    values_[squared(classes_)] += std::llround(loss * kUnitsPerNat);
  }
}

std::int64_t Tally::samples() const {
  const auto end = values_.begin() + static_cast<std::ptrdiff_t>(squared(classes_));
  return std::accumulate(values_.begin(), end, std::int64_t{0});
}

std::int64_t Tally::count(const Cell& cell) const { return values_[place(cell)]; }

double Tally::mean_loss() const {
  if (values_[squared(classes_) + 1] > 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const std::int64_t n = samples();
  const auto sum = static_cast<double>(values_[squared(classes_)]) / kUnitsPerNat;
  return n == 0 ? 0 : sum / static_cast<double>(n);
}

}  // namespace bp::trainer
