// Checks the bytes of blocks of int8 against a model that knows only what they mean, on each
// instruction set.
#include "comm/reduce/int8.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "comm/reduce/halves.h"
#include "tests/unit/simd_target.h"

namespace bp {
namespace {

std::byte* bytes_in(std::vector<float>& numbers) {
  return reinterpret_cast<std::byte*>(numbers.data());
}

struct Encoded {
  std::vector<std::byte> bytes;
  std::vector<float> errors;

  explicit Encoded(std::vector<float> numbers)
      : bytes(int8_bytes(numbers.size())), errors(numbers.size(), 77) {
    to_int8(bytes.data(), bytes_in(numbers), bytes_in(errors), numbers.size());
  }
  [[nodiscard]] float factor(std::size_t block) const {
    BFloat16 factor{};
    std::memcpy(&factor, &bytes[block * 66], 2);
    return to_float(factor);
  }
  [[nodiscard]] int number(std::size_t i) const {
    return static_cast<std::int8_t>(bytes[i / 64 * 66 + 2 + i % 64]);
  }
  [[nodiscard]] std::vector<float> numbers() const {
    std::vector<float> all(errors.size(), 88);
    from_int8(bytes_in(all), bytes.data(), all.size());
    return all;
  }
};

std::vector<float> random_numbers(std::size_t count) {
  std::mt19937 random(count);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> exponent(-140, 120);
  std::vector<float> all;
  float size = 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 64 == 0) size = std::ldexp(1.0F, exponent(random));
    all.push_back(normal(random) * size);
  }
  return all;
}

// The smallest bf16 that is not less than `most` by 127, in f32.
float factor_for(float most) {
  const float exact = most / 127;
  float factor = to_float(to_bfloat16(exact));
  if (factor < exact) {
    factor = std::bit_cast<float>(std::bit_cast<std::uint32_t>(factor) + 0x10000U);
  }
  return std::max(factor, 0x1p-126F);
}

class Int8 : public SimdTest {};
INSTANTIATE_TEST_SUITE_P(Machines, Int8, testing::ValuesIn(simd_targets()), simd_name);

TEST_P(Int8, EachNumberIsTheNearestMultipleOfItsBlocksFactor) {
  for (const std::size_t count : {1, 15, 63, 64, 65, 128, 1000, 6400}) {
    const std::vector<float> numbers = random_numbers(count);
    const Encoded encoded(numbers);
    EXPECT_EQ(encoded.bytes.size(), count + (count + 63) / 64 * 2);
    const std::vector<float> decoded = encoded.numbers();
    for (std::size_t i = 0; i < count; ++i) {
      const auto block = numbers.begin() + static_cast<std::ptrdiff_t>(i / 64 * 64);
      const auto end =
          numbers.begin() + static_cast<std::ptrdiff_t>(std::min(i / 64 * 64 + 64, count));
      float most = 0;
      for (auto one = block; one != end; ++one) most = std::max(most, std::abs(*one));
      const float factor = factor_for(most);
      ASSERT_EQ(encoded.factor(i / 64), factor) << i;
      ASSERT_EQ(encoded.number(i), std::nearbyint(numbers[i] * (1 / factor))) << i;
      ASSERT_EQ(decoded[i], static_cast<float>(encoded.number(i)) * factor) << i;
      ASSERT_LE(std::abs(encoded.errors[i]), factor * 0.5001F) << i;
      ASSERT_EQ(double{decoded[i]} + double{encoded.errors[i]}, double{numbers[i]})
          << "the error is exact";
    }
  }
}

TEST_P(Int8, TiesAreEven) {
  std::vector<float> numbers(64, 0);
  numbers[0] = 127;  // the factor is 1
  for (int i = 0; i < 20; ++i)
    numbers[static_cast<std::size_t>(i) + 1] = static_cast<float>(i) - 9.5F;
  numbers[30] = 0.49999997F;
  const Encoded encoded(numbers);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(encoded.number(i), std::nearbyint(numbers[i])) << numbers[i];
  }
}

TEST_P(Int8, ZerosAndTheSmallestNumbersKeepTheirErrors) {
  std::vector<float> numbers(70, 0);
  numbers[3] = 0x1p-149F;
  numbers[4] = 0x1p-127F;
  numbers[65] = -0x1p-126F;
  const Encoded encoded(numbers);
  EXPECT_EQ(encoded.factor(0), 0x1p-126F);
  EXPECT_EQ(encoded.numbers()[65], -0x1p-126F);
  for (std::size_t i = 0; i < 70; ++i) {
    EXPECT_EQ(encoded.numbers()[i] + encoded.errors[i], numbers[i]) << i;
  }
}

TEST_P(Int8, OneThatIsNotFiniteMakesItsBlockNan) {
  for (const float odd :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> numbers(200, 127);
    numbers[70] = odd;
    const Encoded encoded(numbers);
    const std::vector<float> decoded = encoded.numbers();
    for (std::size_t i = 0; i < 200; ++i) {
      if (i / 64 == 1) {
        EXPECT_EQ(std::bit_cast<std::uint32_t>(decoded[i]), 0x7fc00000U) << i;
      } else {
        EXPECT_EQ(decoded[i], 127) << i;
      }
      EXPECT_EQ(encoded.errors[i], 0) << i;
    }
  }
}

TEST_P(Int8, TheLargestNumbersStayFinite) {
  const Encoded encoded({0x1.fcp127F, -0x1.fcp127F});
  EXPECT_EQ(encoded.numbers(), (std::vector<float>{0x1.fcp127F, -0x1.fcp127F}));
}

TEST_P(Int8, AddsToWhatIsThereAndWritesNothingBehindIt) {
  std::vector<float> numbers(66);
  for (std::size_t i = 0; i < 66; ++i) numbers[i] = static_cast<float>(i % 5);
  numbers[1] = 127;
  numbers[65] = -127;
  const Encoded encoded(numbers);
  std::vector<float> sums(67, 1000);
  add_int8(bytes_in(sums), encoded.bytes.data(), 66);
  for (std::size_t i = 0; i < 66; ++i) EXPECT_EQ(sums[i], 1000 + numbers[i]) << i;
  EXPECT_EQ(sums[66], 1000);
  to_int8(std::vector<std::byte>(int8_bytes(66)).data(), bytes_in(numbers), nullptr, 66);
}

}  // namespace
}  // namespace bp
