// Every way to sum squares gives the same bits, on every kind of processor.
// docs/acceptance.md, Precision: Norms of gradients are exact on every instruction set of the
// processor.
#include "comm/torch/gradient_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "comm/reduce/halves.h"

namespace bp {
namespace {

template <class T>
const std::byte* bytes_of(const std::vector<T>& x) {
  return reinterpret_cast<const std::byte*>(x.data());
}

// What gradient_math.h promises: element i is added to sum i mod 16, and the sums are added in
// order.
template <class T, class ToDouble>
double wanted_squares(const std::vector<T>& x, std::size_t from, ToDouble to_double) {
  std::array<double, 16> lanes{};
  for (std::size_t i = from; i < x.size(); ++i) {
    const double wide = to_double(x[i]);
    const double square = wide * wide;
    lanes[(i - from) % lanes.size()] += square;
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

std::vector<float> any_floats(std::size_t count) {
  std::mt19937 random(static_cast<unsigned>(count) + 1);
  std::vector<float> x(count);
  for (float& value : x) {
    const int exponent = static_cast<int>(random() % 60) - 30;
    value = std::ldexp(static_cast<float>(random()) - 2e9F, exponent);
  }
  return x;
}

TEST(SquaresOfFloats, HaveTheSameBitsByEveryInstructionSet) {
  bool last = false;
  for (const auto& [name, is_supported, sum] : ways_to_square_floats()) {
    SCOPED_TRACE(name);
    last = is_supported;
    if (!is_supported) {
      std::cout << "not run: this processor has no " << name << "\n";
      continue;
    }
    std::cout << "run: " << name << "\n";
    for (const std::size_t count : {0, 1, 15, 16, 17, 31, 32, 67, 1000, 4099}) {
      const std::vector<float> x = any_floats(count);
      for (std::size_t from = 0; from < std::min<std::size_t>(count, 5); ++from) {
        const double wanted = wanted_squares(x, from, [](float f) { return double{f}; });
        EXPECT_EQ(sum(x.data() + from, count - from), wanted) << count << " from " << from;
      }
    }
  }
  EXPECT_TRUE(last) << "the last implementation must run on every processor";
}

TEST(SumOfSquares, IsInTheSameOrderInEveryType) {
  const std::vector<float> floats = any_floats(67);
  EXPECT_EQ(sum_of_squares(DataType::f32, bytes_of(floats), floats.size()),
            wanted_squares(floats, 0, [](float f) { return double{f}; }));
  std::vector<double> doubles;
  std::vector<Float16> halves;
  std::vector<BFloat16> brains;
  for (const float value : floats) {
    doubles.push_back(std::sqrt(std::abs(double{value})));
    halves.push_back(to_float16(std::remainder(value, 1000.0F)));
    brains.push_back(to_bfloat16(value));
  }
  EXPECT_EQ(sum_of_squares(DataType::f64, bytes_of(doubles), doubles.size()),
            wanted_squares(doubles, 0, [](double x) { return x; }));
  EXPECT_EQ(sum_of_squares(DataType::f16, bytes_of(halves), halves.size()),
            wanted_squares(halves, 0, [](Float16 x) { return double{to_float(x)}; }));
  EXPECT_EQ(sum_of_squares(DataType::bf16, bytes_of(brains), brains.size()),
            wanted_squares(brains, 0, [](BFloat16 x) { return double{to_float(x)}; }));
}

}  // namespace
}  // namespace bp
