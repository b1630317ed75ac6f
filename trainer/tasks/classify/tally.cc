#include "trainer/tasks/classify/tally.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/tasks/exact_sum.h"

namespace bp::trainer {
namespace {

// Losses are summed in units of 2^-30. The sum of integers does not depend on the order, and there
// is room for 8 million samples at kLargestLoss.
constexpr double kUnitsPerNat = 1 << 30;

}  // namespace

Tally::Tally(int classes) : classes_(classes) {
  if (classes < 2) {
    throw Error(ErrorCode::invalid_argument,
                concat("evaluation of ", classes, " class(es): at least two are needed"));
  }
  counts_.resize(static_cast<std::size_t>(classes) * static_cast<std::size_t>(classes));
}

Tally::Tally(const LabelledRows& rows) : Tally(static_cast<int>(rows.labels.size())) {
  for (std::size_t row = 0; row < rows.answers.size(); ++row) {
    if (rows.counts(row)) add({rows.answers.of(row).front(), rows.predictions.of(row).front()});
  }
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

std::int64_t Tally::samples() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
}

LossSum::LossSum(bool exact) : exact_(exact), values_(exact ? ExactSum::kSize : 2) {}

void LossSum::add(double loss) {
  if (exact_) {
    ExactSum(std::span(values_).first<ExactSum::kSize>()).add(loss);
  } else if (std::isnan(loss)) {
    ++values_[1];
  } else {
    values_[0] += std::llround(std::clamp(loss, -kLargestLoss, kLargestLoss) * kUnitsPerNat);
  }
}

double LossSum::mean(std::int64_t losses) const {
  if (!exact_ && values_[1] > 0) return std::numeric_limits<double>::quiet_NaN();
  const double sum = exact_ ? ExactSum::value_of(std::span(values_).first<ExactSum::kSize>())
                            : static_cast<double>(values_[0]) / kUnitsPerNat;
  return losses == 0 ? 0 : sum / static_cast<double>(losses);
}

}  // namespace bp::trainer
