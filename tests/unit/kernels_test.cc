// The element-wise kernels against the same formulas in double, and what dropout draws.
#include "trainer/model/kernels/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace bp::trainer::kernels {
namespace {

float value(float x) { return x; }
float value(BFloat16 x) { return __builtin_bit_cast(float, static_cast<std::uint32_t>(x) << 16); }
template <class Number>
Number number(double x);
template <>
float number(double x) {
  return static_cast<float>(x);
}
template <>
BFloat16 number(double x) {  // exact for the inputs used here
  return static_cast<BFloat16>(__builtin_bit_cast(std::uint32_t, static_cast<float>(x)) >> 16);
}

// Numbers -4 .. 4 that bf16 holds exactly, different in each place.
template <class Number>
std::vector<Number> numbers(int count, int salt) {
  std::vector<Number> result;
  for (int i = 0; i < count; ++i)
    result.push_back(number<Number>(((i * 37 + salt * 11) % 65 - 32) / 8.0));
  return result;
}

template <class Number>
class Kernel : public ::testing::Test {
 protected:
  static constexpr double kTolerance = std::is_same_v<Number, float> ? 3e-6 : 0.02;
};
using Numbers = ::testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(Kernel, Numbers);

TYPED_TEST(Kernel, GeluIsErfGelu) {
  const auto x = numbers<TypeParam>(65, 1);
  const auto bias = numbers<float>(65, 2);
  std::vector<TypeParam> y(65);
  kernels<TypeParam>().gelu(y.data(), x.data(), bias.data(), 65);
  const std::vector<TypeParam> ones(65, number<TypeParam>(1));
  std::vector<TypeParam> dx(65);
  std::vector<float> sum(65, 5.0F);
  kernels<TypeParam>().gelu_backward(dx.data(), sum.data(), ones.data(), x.data(), bias.data(), 65);
  for (std::size_t i = 0; i < 65; ++i) {
    const double u = value(x[i]) + bias[i];
    const double below = 0.5 * std::erfc(-u / std::sqrt(2.0));
    const double slope = below + u * std::exp(-u * u / 2) / std::sqrt(2 * M_PI);
    EXPECT_NEAR(value(y[i]), u * below, TestFixture::kTolerance * std::max(1.0, std::abs(u)));
    EXPECT_NEAR(value(dx[i]), slope, TestFixture::kTolerance);
    EXPECT_NEAR(sum[i], 5 + slope, 3e-6);
  }
}

TYPED_TEST(Kernel, SoftmaxIgnoresWhatIsNotValid) {
  auto scores = numbers<TypeParam>(48, 3);
  std::vector<TypeParam> p(48);
  kernels<TypeParam>().softmax(p.data(), nullptr, scores.data(), 37, 48, 0.5F, nullptr);
  double sum = 0;
  for (std::size_t i = 0; i < 37; ++i) sum += std::exp(0.5 * value(scores[i]));
  for (std::size_t i = 0; i < 48; ++i) {
    const double expected = i < 37 ? std::exp(0.5 * value(scores[i])) / sum : 0;
    EXPECT_NEAR(value(p[i]), expected, TestFixture::kTolerance * 0.2);
  }
  kernels<TypeParam>().softmax(p.data(), nullptr, scores.data(), 0, 48, 0.5F, nullptr);
  for (const TypeParam x : p) EXPECT_EQ(value(x), 0.0F);
}

TYPED_TEST(Kernel, NothingHidesANaN) {
  auto x = numbers<TypeParam>(32, 3);
  x[5] = number<TypeParam>(std::nan(""));
  const std::vector<float> bias(32, 0.0F);
  std::vector<TypeParam> y(32);
  kernels<TypeParam>().gelu(y.data(), x.data(), bias.data(), 32);
  EXPECT_TRUE(std::isnan(value(y[5])));
  kernels<TypeParam>().softmax(y.data(), nullptr, x.data(), 32, 32, 1.0F, nullptr);
  EXPECT_TRUE(std::isnan(value(y[0])));
}

TYPED_TEST(Kernel, HeadsThereAndBack) {
  const int count = 3;
  const int size = 5;
  const auto row = numbers<TypeParam>(2 * count * size, 4);
  const auto bias = numbers<float>(2 * count * size, 5);
  std::vector<TypeParam> first(100);
  std::vector<TypeParam> second(100);
  typename Kernels<TypeParam>::Heads heads;
  heads.parts = 2;
  heads.count = count;
  heads.size = size;
  heads.heads[0] = first.data();
  heads.heads[1] = second.data();
  heads.stride[0] = 7;
  heads.stride[1] = 9;
  kernels<TypeParam>().split_heads(heads, row.data(), bias.data());
  EXPECT_EQ(value(first[7 + 2]), value(row[size + 2]) + bias[size + 2]);
  EXPECT_EQ(value(second[18 + 4]), value(row[29]) + bias[29]);
  heads.heads[0] = nullptr;
  std::vector<TypeParam> merged(30, number<TypeParam>(1));
  std::vector<float> sum(30, 1.0F);
  kernels<TypeParam>().merge_heads(merged.data(), sum.data(), heads);
  EXPECT_EQ(value(merged[3]), 0.0F);
  EXPECT_EQ(sum[3], 1.0F);
  EXPECT_EQ(value(merged[29]), value(second[18 + 4]));
  EXPECT_EQ(sum[29], 1.0F + value(second[18 + 4]));
}

// The known answer of Random123 for Philox4x32-10 with counter 0 and key 0.
TEST(Random, IsPhilox) {
  DropoutRow row;
  std::uint16_t out[128];
  random_block(out, 0, row);
  EXPECT_EQ(out[0] | std::uint32_t{out[16]} << 16, 0x6627e8d5U);
  EXPECT_EQ(out[32] | std::uint32_t{out[48]} << 16, 0xe169c58dU);
  EXPECT_EQ(out[64] | std::uint32_t{out[80]} << 16, 0xbc57ac4cU);
  EXPECT_EQ(out[96] | std::uint32_t{out[112]} << 16, 0x9b00dbd8U);
}

TEST(Random, EveryInstructionSetDrawsTheSame) {
  DropoutRow row;
  row.key[0] = 0x12345678;
  row.sample = 0xfffffff0;
  row.site = 3;
  row.threshold = 32768;
  row.scale = 2;
  const std::vector<float> ones(1000, 1.0F);
  std::vector<float> y(1000);
  kernels<float>().dropout(y.data(), ones.data(), 1000, row);
  std::uint16_t random[128];
  for (std::size_t i = 0; i < 1000; ++i) {
    if (i % 128 == 0) random_block(random, static_cast<std::uint32_t>(i / 128), row);
    EXPECT_EQ(y[i], random[i % 128] < 32768 ? 0.0F : 2.0F) << i;
  }
}

// Frequencies within 5 standard deviations; neighbours in the stream, rows, samples, sites and
// steps draw independently.
TEST(Random, DropsTheShareThatWasAskedFor) {
  const int rows = 400;
  const int width = 512;
  const double share = 6554.0 / 65536;
  const std::vector<float> ones(width, 1.0F);
  std::vector<std::vector<bool>> dropped;
  for (int r = 0; r < rows; ++r) {
    DropoutRow row;
    row.threshold = 6554;
    row.row = static_cast<std::uint32_t>(r % 5);
    row.sample = static_cast<std::uint32_t>(r / 5 % 4);
    row.site = static_cast<std::uint32_t>(r / 20 % 4);
    row.key[0] = static_cast<std::uint32_t>(r / 80);
    std::vector<float> y(width);
    kernels<float>().dropout(y.data(), ones.data(), width, row);
    std::vector<bool> line;
    for (const float x : y) line.push_back(x == 0.0F);
    dropped.push_back(line);
  }
  const auto expect_share = [](double count, double n, double expected) {
    EXPECT_NEAR(count / n, expected, 5 * std::sqrt(expected * (1 - expected) / n));
  };
  double total = 0;
  double with_next = 0;
  double with_next_row = 0;
  for (std::size_t r = 0; r < dropped.size(); ++r) {
    for (std::size_t i = 0; i < width; ++i) {
      total += dropped[r][i];
      if (i + 1 < width) with_next += dropped[r][i] && dropped[r][i + 1];
      if (r + 1 < dropped.size()) with_next_row += dropped[r][i] && dropped[r + 1][i];
    }
  }
  expect_share(total, rows * width, share);
  expect_share(with_next, rows * (width - 1), share * share);
  expect_share(with_next_row, (rows - 1) * width, share * share);
}

}  // namespace
}  // namespace bp::trainer::kernels
