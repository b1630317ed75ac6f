#include "trainer/tasks/exact_sum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace bp::trainer {
namespace {

constexpr std::size_t kInfinities = 66;  // those before are digits
constexpr std::size_t kNegativeInfinities = 67;
constexpr std::size_t kNans = 68;

constexpr int kBits = 32;
constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;
constexpr int kSmallest = -1074;  // the smallest double is 2 to this power
constexpr int kMantissa = 52;     // bits of a double's fraction
constexpr std::uint64_t kExponents = 0x7FF;

using Digits = std::array<std::int64_t, kInfinities>;

// Moves carries up, so that each digit but the last is between 0 and 2^32 - 1. Returns whether the
// number is negative.
bool carry(Digits& digits) {
  std::int64_t over = 0;
  for (std::int64_t& digit : digits) {
    digit += over;
    over = digit >> kBits;
    if (&digit != &digits.back()) digit -= over * (std::int64_t{1} << kBits);
  }
  return digits.back() < 0;
}

}  // namespace

void ExactSum::add(double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number);
  const std::uint64_t exponent = bits >> kMantissa & kExponents;
  std::uint64_t mantissa = bits & ((std::uint64_t{1} << kMantissa) - 1);
  const bool negative = bits >> 63 != 0;
  if (exponent == kExponents) {
    ++digits_[mantissa != 0 ? kNans : negative ? kNegativeInfinities : kInfinities];
    return;
  }
  if (exponent != 0) mantissa |= std::uint64_t{1} << kMantissa;
  const std::uint64_t place = exponent == 0 ? 0 : exponent - 1;
  const std::uint64_t shift = place % kBits;
  const std::uint64_t low = (mantissa & kMask) << shift;
  const std::uint64_t high = (mantissa >> kBits) << shift;
  const std::int64_t sign = negative ? -1 : 1;
  const auto at = digits_.subspan(place / kBits, 3);
  at[0] += sign * static_cast<std::int64_t>(low & kMask);
  at[1] += sign * static_cast<std::int64_t>((low >> kBits) + (high & kMask));
  at[2] += sign * static_cast<std::int64_t>(high >> kBits);
}

void ExactSum::add_product(double x, double y) {
  const double product = x * y;
  add(product);
  if (std::isfinite(product)) add(std::fma(x, y, -product));
}

double ExactSum::value_of(std::span<const std::int64_t, kSize> sum) {
  if (sum[kNans] > 0 || (sum[kInfinities] > 0 && sum[kNegativeInfinities] > 0)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (sum[kInfinities] > 0) return std::numeric_limits<double>::infinity();
  if (sum[kNegativeInfinities] > 0) return -std::numeric_limits<double>::infinity();
  Digits digits{};
  std::copy_n(sum.begin(), digits.size(), digits.begin());
  const bool negative = carry(digits);
  if (negative) {
    for (std::int64_t& digit : digits) digit = -digit;
    (void)carry(digits);
  }
  double value = 0;
  int power = kSmallest;
  for (const std::int64_t digit : digits) {
    value += std::ldexp(static_cast<double>(digit), power);
    power += kBits;
  }
  return negative ? -value : value;
}

}  // namespace bp::trainer
