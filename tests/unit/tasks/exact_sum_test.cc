// Exact sums of floating-point numbers.
#include "trainer/tasks/exact_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

namespace bp::trainer {
namespace {

using Digits = std::array<std::int64_t, ExactSum::kSize>;
using Limits = std::numeric_limits<double>;

double sum_of(const std::vector<double>& numbers) {
  Digits digits{};
  ExactSum sum(digits);
  for (const double number : numbers) sum.add(number);
  return sum.value();
}

TEST(ExactSum, LosesNoBit) {
  EXPECT_EQ(sum_of({}), 0);
  EXPECT_EQ(sum_of({1, -1}), 0);
  EXPECT_EQ(sum_of({1e300, 1, -1e300}), 1);
  EXPECT_EQ(sum_of({1e300, -1, -1e300}), -1);
  EXPECT_EQ(sum_of({-1e300, 0x1p-1074, 1e300}), 0x1p-1074);
  EXPECT_EQ(sum_of({Limits::max(), Limits::denorm_min(), -Limits::max(), -0x1p-1073}), -0x1p-1074);
  EXPECT_EQ(sum_of(std::vector(1'000'000, 0.1)), 100000.00000000000555);
}

// Integers have an exact sum to compare with.
TEST(ExactSum, EqualsTheSumOfIntegers) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    const int shift = static_cast<int>(random() % 1800) - 900;
    std::vector<double> numbers;
    std::int64_t sum = 0;
    for (int i = 0; i < 100; ++i) {
      const auto integer = static_cast<std::int64_t>(random() >> (random() % 30 + 18)) *
                           (random() % 2 == 0 ? 1 : -1);
      sum += integer;
      numbers.push_back(std::ldexp(static_cast<double>(integer), shift));
    }
    EXPECT_EQ(sum_of(numbers), std::ldexp(static_cast<double>(sum), shift));
  }
}

TEST(ExactSum, RanksAddUpInAnyOrder) {
  std::mt19937_64 random(2);
  std::vector<double> numbers;
  for (int i = 0; i < 1000; ++i) {
    numbers.push_back(std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 600)) *
                      (random() % 2 == 0 ? 1 : -1));
  }
  const double whole = sum_of(numbers);
  for (int round = 0; round < 20; ++round) {
    std::ranges::shuffle(numbers, random);
    Digits first{};
    Digits second{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      ExactSum(i < 400 ? first : second).add(numbers[i]);
    }
    std::ranges::transform(first, second, first.begin(), std::plus());
    EXPECT_EQ(ExactSum(first).value(), whole);
  }
}

TEST(ExactSum, ProductsAreExact) {
  Digits digits{};
  ExactSum sum(digits);
  const double x = 1 + 0x1p-40;
  sum.add_product(x, x);  // 1 + 2^-39 + 2^-80
  sum.add(-1);
  sum.add(-0x1p-39);
  EXPECT_EQ(sum.value(), 0x1p-80);
  sum.add_product(1e200, 1e200);
  EXPECT_EQ(sum.value(), Limits::infinity());
}

TEST(ExactSum, NumbersThatAreNotFinite) {
  const double infinity = Limits::infinity();
  EXPECT_EQ(sum_of({1, infinity, infinity}), infinity);
  EXPECT_EQ(sum_of({1, -infinity, 1e300}), -infinity);
  EXPECT_TRUE(std::isnan(sum_of({infinity, -infinity})));
  EXPECT_TRUE(std::isnan(sum_of({1, Limits::quiet_NaN(), infinity})));
  EXPECT_EQ(sum_of({Limits::max(), Limits::max()}), infinity);
  EXPECT_EQ(sum_of({-Limits::max(), -Limits::max()}), -infinity);
}

}  // namespace
}  // namespace bp::trainer
