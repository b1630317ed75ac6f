// Sums floating-point numbers exactly, in integers that ranks can add up: the sum is the same for
// any order of the numbers and any number of ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace bp::trainer {

// A view of kSize integers, all 0 at first. They are the digits of the sum, 32 bits each, as a
// number in units of the smallest double; each has room for the carries of a billion numbers. The
// sum of two ranks' integers, one by one, is the sum of their numbers.
class ExactSum {
 public:
  static constexpr std::size_t kSize = 69;

  // The caller keeps `digits` alive.
  explicit ExactSum(std::span<std::int64_t, kSize> digits) : digits_(digits) {}

  // A number that is not finite makes value() what plain addition would: infinite or NaN.
  void add(double number);
  // Adds x y without rounding, unless the product is below 1e-290 or above the largest double.
  void add_product(double x, double y);

  [[nodiscard]] double value() const { return value_of(digits_); }
  // Returns the sum, within one unit in the last place.
  [[nodiscard]] static double value_of(std::span<const std::int64_t, kSize> sum);

 private:
  std::span<std::int64_t, kSize> digits_;
};

}  // namespace bp::trainer
