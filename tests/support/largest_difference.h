// The largest absolute difference between two sequences of numbers, for tests with a tolerance.
// std::max() keeps its first argument when the second is NaN, so a plain running maximum would
// accept NaN results.
#pragma once

#include <cmath>
#include <stdexcept>

namespace bp::test {

class LargestDifference {
 public:
  void add(double a, double b) { add(std::abs(a - b)); }
  // Adds a difference that the caller has computed.
  void add(double difference) {
    empty_ = false;
    // The negated comparison is true for NaN, and no later difference replaces a NaN.
    if (!std::isnan(largest_) && !(difference <= largest_)) largest_ = difference;
  }
  // Returns NaN if any difference was NaN. Throws std::logic_error if nothing was compared.
  [[nodiscard]] double value() const {
    if (empty_) throw std::logic_error("no numbers were compared");
    return largest_;
  }

 private:
  double largest_ = 0;
  bool empty_ = true;
};

}  // namespace bp::test
