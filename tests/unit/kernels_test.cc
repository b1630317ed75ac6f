// Checks the element-wise kernels of every instruction set that this processor has against the same
// formulas in double, and what dropout draws against what the baseline does.
// docs/acceptance.md, Precision: The model's loops are exact on every instruction set of the
// processor.
#include "trainer/model/kernels/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "comm/reduce/halves.h"
#include "tests/unit/kernel_cases.h"

namespace bp::trainer::kernels {
namespace {

TYPED_TEST_SUITE(Kernel, Cases, CaseName);

TYPED_TEST(Kernel, EmbedIsTheSumOfThree) {
  using Number = typename TypeParam::Number;
  const auto word = numbers<float>(67, 1);
  const auto position = numbers<float>(67, 2);
  const auto type = numbers<float>(67, 3);
  std::vector<Number> out(67);
  this->table().embed(out.data(), word.data(), position.data(), type.data(), 67);
  for (std::size_t i = 0; i < 67; ++i) EXPECT_EQ(value(out[i]), word[i] + position[i] + type[i]);
}

// The sums are exact in both types. Longer than a screen, because the derivative is compared with
// one that the results of the forward pass give.
TYPED_TEST(Kernel, AddNormIsTheNormOfTheSumAndItsBackwardTheDerivative) {
  using Number = typename TypeParam::Number;
  constexpr int kWidth = 67;
  const auto x = numbers<Number>(kWidth, 1);
  const auto bias = numbers<float>(kWidth, 2);
  const auto residual = numbers<Number>(kWidth, 3);
  const auto gamma = numbers<float>(kWidth, 4);
  const auto beta = numbers<float>(kWidth, 5);
  const auto dy = numbers<Number>(kWidth, 6);
  std::vector<Number> z(kWidth);
  std::vector<Number> y(kWidth);
  float mean = 0;
  float rstd = 0;
  this->table().add_norm({.z = z.data(),
                          .y = y.data(),
                          .mean = &mean,
                          .rstd = &rstd,
                          .x = x.data(),
                          .bias = bias.data(),
                          .residual = residual.data(),
                          .gamma = gamma.data(),
                          .beta = beta.data(),
                          .width = kWidth,
                          .epsilon = 1e-5F});
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < kWidth; ++i) {
    EXPECT_EQ(value(z[i]), value(x[i]) + bias[i] + value(residual[i])) << i;
    sum += value(z[i]);
  }
  for (std::size_t i = 0; i < kWidth; ++i) squares += std::pow(value(z[i]) - sum / kWidth, 2);
  const double deviation = std::sqrt(squares / kWidth + 1e-5);
  EXPECT_NEAR(mean, sum / kWidth, 3e-6);
  EXPECT_NEAR(rstd, 1 / deviation, 3e-6);

  std::vector<Number> dz(kWidth);
  std::vector<float> gamma_sum(kWidth, 5.0F);
  std::vector<float> beta_sum(kWidth, 6.0F);
  std::vector<float> bias_sum(kWidth, 7.0F);
  this->table().add_norm_backward({.dz = dz.data(),
                                   .dx = dz.data(),
                                   .gamma_sum = gamma_sum.data(),
                                   .beta_sum = beta_sum.data(),
                                   .bias_sum = bias_sum.data(),
                                   .dy = dy.data(),
                                   .z = z.data(),
                                   .gamma = gamma.data(),
                                   .width = kWidth,
                                   .mean = mean,
                                   .rstd = rstd});
  double scaled = 0;
  double dot = 0;
  for (std::size_t i = 0; i < kWidth; ++i) {
    const double normed = (value(z[i]) - sum / kWidth) / deviation;
    scaled += value(dy[i]) * gamma[i] / kWidth;
    dot += value(dy[i]) * gamma[i] * normed / kWidth;
  }
  for (std::size_t i = 0; i < kWidth; ++i) {
    const double normed = (value(z[i]) - sum / kWidth) / deviation;
    const double wanted = (value(dy[i]) * gamma[i] - scaled - normed * dot) / deviation;
    const double out = normed * gamma[i] + beta[i];
    EXPECT_NEAR(value(y[i]), out, this->tolerance(out, 16)) << i;
    EXPECT_NEAR(value(dz[i]), wanted, this->tolerance(wanted, 16)) << i;
    EXPECT_NEAR(gamma_sum[i], 5 + value(dy[i]) * normed, 3e-5) << i;
    EXPECT_EQ(beta_sum[i], 6 + value(dy[i])) << i;
    EXPECT_NEAR(bias_sum[i], 7 + wanted, 3e-5) << i;
  }
}

TYPED_TEST(Kernel, SoftmaxBackwardIsTheDerivativeOfWhatIsValid) {
  using Number = typename TypeParam::Number;
  std::vector<Number> p;
  double dot = 0;
  const auto d_p = numbers<Number>(48, 7);
  for (std::size_t i = 0; i < 48; ++i) {
    p.push_back(number<Number>(static_cast<double>(i % 8) / 128));  // exact in both types
    if (i < 37) dot += value(p[i]) * value(d_p[i]);
  }
  std::vector<Number> d_scores(48, number<Number>(1));
  this->table().softmax_backward(d_scores.data(), p.data(), p.data(), d_p.data(), 37, 48, 0.5F);
  for (std::size_t i = 0; i < 48; ++i) {
    const double wanted = i < 37 ? 0.5 * value(p[i]) * (value(d_p[i]) - dot) : 0;
    EXPECT_NEAR(value(d_scores[i]), wanted, this->tolerance(wanted)) << i;
  }
}

TYPED_TEST(Kernel, GeluIsErfGelu) {
  using Number = typename TypeParam::Number;
  const auto x = numbers<Number>(65, 1);
  const auto bias = numbers<float>(65, 2);
  std::vector<Number> y(65);
  this->table().gelu(y.data(), x.data(), bias.data(), 65);
  const std::vector<Number> ones(65, number<Number>(1));
  std::vector<Number> dx(65);
  std::vector<float> sum(65, 5.0F);
  this->table().gelu_backward(dx.data(), sum.data(), ones.data(), x.data(), bias.data(), 65);
  for (std::size_t i = 0; i < 65; ++i) {
    const double u = value(x[i]) + bias[i];
    const double below = 0.5 * std::erfc(-u / std::sqrt(2.0));
    const double slope = below + u * std::exp(-u * u / 2) / std::sqrt(2 * M_PI);
    EXPECT_NEAR(value(y[i]), u * below, this->tolerance(u * below, std::max(1.0, std::abs(u))));
    EXPECT_NEAR(value(dx[i]), slope, this->tolerance(slope));
    EXPECT_NEAR(sum[i], 5 + slope, 3e-6);
  }
}

// "gelu_new" of transformers.
TYPED_TEST(Kernel, GeluByTanhIsItsApproximation) {
  using Number = typename TypeParam::Number;
  const auto x = numbers<Number>(65, 1);
  const auto bias = numbers<float>(65, 2);
  std::vector<Number> y(65);
  this->table().gelu_tanh(y.data(), x.data(), bias.data(), 65);
  const std::vector<Number> ones(65, number<Number>(1));
  std::vector<Number> dx(65);
  std::vector<float> sum(65, 5.0F);
  this->table().gelu_tanh_backward(dx.data(), sum.data(), ones.data(), x.data(), bias.data(), 65);
  for (std::size_t i = 0; i < 65; ++i) {
    const double u = value(x[i]) + bias[i];
    const double root = std::sqrt(2 / M_PI);
    const double bend = std::tanh(root * (u + 0.044715 * u * u * u));
    const double wanted = u * (1 + bend) / 2;
    const double slope =
        (1 + bend) / 2 + u * (1 - bend * bend) / 2 * root * (1 + 3 * 0.044715 * u * u);
    EXPECT_NEAR(value(y[i]), wanted, this->tolerance(wanted, std::max(1.0, std::abs(u))));
    EXPECT_NEAR(value(dx[i]), slope, this->tolerance(slope));
    EXPECT_NEAR(sum[i], 5 + slope, 3e-6);
  }
}

TYPED_TEST(Kernel, GatedGeluIsTheProductOfGeluAndTheOtherHalf) {
  using Number = typename TypeParam::Number;
  constexpr int kWidth = 37;
  const auto x = numbers<Number>(2 * kWidth, 1);
  const auto dy = numbers<Number>(kWidth, 2);
  std::vector<Number> y(kWidth);
  std::vector<Number> dx(2 * kWidth);
  this->table().gated_gelu(y.data(), x.data(), kWidth);
  this->table().gated_gelu_backward(dx.data(), dy.data(), x.data(), kWidth);
  for (std::size_t i = 0; i < kWidth; ++i) {
    const double u = value(x[i]);
    const double gate = value(x[kWidth + i]);
    const double d = value(dy[i]);
    const double below = 0.5 * std::erfc(-u / std::sqrt(2.0));
    const double slope = below + u * std::exp(-u * u / 2) / std::sqrt(2 * M_PI);
    EXPECT_NEAR(value(y[i]), u * below * gate, this->tolerance(u * below * gate, 4));
    EXPECT_NEAR(value(dx[i]), d * gate * slope, this->tolerance(d * gate * slope, 4));
    EXPECT_NEAR(value(dx[kWidth + i]), d * u * below, this->tolerance(d * u * below, 4));
  }
}

TYPED_TEST(Kernel, RotatesPairsOfNumbersThereAndBack) {
  using Number = typename TypeParam::Number;
  constexpr int kHeads = 3;
  constexpr int kSize = 10;
  constexpr std::size_t kHalf = 5;
  const auto x = numbers<Number>(kHeads * kSize, 1);
  std::vector<float> cosines(kHalf);
  std::vector<float> sines(kHalf);
  for (std::size_t i = 0; i < kHalf; ++i) {
    cosines[i] = static_cast<float>(std::cos(1.0 + static_cast<double>(i)));
    sines[i] = static_cast<float>(std::sin(1.0 + static_cast<double>(i)));
  }
  std::vector<Number> y(x.size());
  std::vector<Number> back(x.size());
  const auto rotate = [&](std::vector<Number>& to, const std::vector<Number>& from, float sign) {
    this->table().rotate({.to = to.data(),
                          .from = from.data(),
                          .cosines = cosines.data(),
                          .sines = sines.data(),
                          .sign = sign,
                          .heads = kHeads,
                          .size = kSize});
  };
  rotate(y, x, 1);
  rotate(back, y, -1);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t within = i % kSize;
    const std::size_t pair = within % kHalf;
    const double other = within < kHalf ? -value(x[i + kHalf]) : value(x[i - kHalf]);
    const double right = value(x[i]) * cosines[pair] + other * sines[pair];
    EXPECT_NEAR(value(y[i]), right, this->tolerance(right, 4)) << i;
    EXPECT_NEAR(value(back[i]), value(x[i]), 4 * this->tolerance(value(x[i]), 4)) << i;
  }
}

TYPED_TEST(Kernel, SoftmaxIgnoresWhatIsNotValid) {
  using Number = typename TypeParam::Number;
  auto scores = numbers<Number>(48, 3);
  std::vector<Number> p(48);
  this->table().softmax(p.data(), nullptr, scores.data(), 37, 48, 0.5F, nullptr);
  double sum = 0;
  for (std::size_t i = 0; i < 37; ++i) sum += std::exp(0.5 * value(scores[i]));
  for (std::size_t i = 0; i < 48; ++i) {
    const double expected = i < 37 ? std::exp(0.5 * value(scores[i])) / sum : 0;
    EXPECT_NEAR(value(p[i]), expected, this->tolerance(expected, 0.2));
  }
  this->table().softmax(p.data(), nullptr, scores.data(), 0, 48, 0.5F, nullptr);
  for (const Number x : p) EXPECT_EQ(value(x), 0.0F);
}

TYPED_TEST(Kernel, NothingHidesANaN) {
  using Number = typename TypeParam::Number;
  auto x = numbers<Number>(32, 3);
  x[5] = number<Number>(std::nan(""));
  const std::vector<float> bias(32, 0.0F);
  std::vector<Number> y(32);
  this->table().gelu(y.data(), x.data(), bias.data(), 32);
  EXPECT_TRUE(std::isnan(value(y[5])));
  this->table().gelu_tanh(y.data(), x.data(), bias.data(), 32);
  EXPECT_TRUE(std::isnan(value(y[5])));
  this->table().softmax(y.data(), nullptr, x.data(), 32, 32, 1.0F, nullptr);
  EXPECT_TRUE(std::isnan(value(y[0])));
}

TYPED_TEST(Kernel, SplitAndMergedHeadsAreUnchanged) {
  using Number = typename TypeParam::Number;
  const int count = 3;
  const int size = 5;
  const auto row = numbers<Number>(2 * count * size, 4);
  const auto bias = numbers<float>(2 * count * size, 5);
  std::vector<Number> first(100);
  std::vector<Number> second(100);
  typename Kernels<Number>::Heads heads;
  heads.parts = 2;
  heads.count = count;
  heads.size = size;
  heads.heads[0] = first.data();
  heads.heads[1] = second.data();
  heads.stride[0] = 7;
  heads.stride[1] = 9;
  this->table().split_heads(heads, row.data(), bias.data());
  EXPECT_EQ(value(first[7 + 2]), value(row[size + 2]) + bias[size + 2]);
  EXPECT_EQ(value(second[18 + 4]), value(row[29]) + bias[29]);
  heads.heads[0] = nullptr;
  std::vector<Number> merged(30, number<Number>(1));
  std::vector<float> sum(30, 1.0F);
  this->table().merge_heads(merged.data(), sum.data(), heads);
  EXPECT_EQ(value(merged[3]), 0.0F);
  EXPECT_EQ(sum[3], 1.0F);
  EXPECT_EQ(value(merged[29]), value(second[18 + 4]));
  EXPECT_EQ(sum[29], 1.0F + value(second[18 + 4]));
}

// Runs `body` for the three sets of loops that this processor has.
template <class Body>
void for_isas(const Body& body) {
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (!is_supported(isa)) continue;
    SCOPED_TRACE(name_of(isa));
    body(kernels<Float16>(isa));
  }
}

// Dropout that drops nothing reads each number and writes it again.
TEST(F16Kernels, ReadEveryNumber) {
  std::vector<Float16> all(0x10000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Float16>(i);
  for_isas([&](const Kernels<Float16>& table) {
    for (std::size_t begin = 0; begin < all.size(); begin += kMaxRow) {
      std::vector<Float16> out(kMaxRow);
      table.dropout(out.data(), &all[begin], kMaxRow, {});
      for (std::size_t i = 0; i < out.size(); ++i) {
        const Float16 in = all[begin + i];
        if (std::isnan(to_float(in))) {
          EXPECT_TRUE(std::isnan(to_float(out[i]))) << begin + i;
        } else {
          EXPECT_EQ(out[i], in) << begin + i;
        }
      }
    }
  });
}

// The embedding of 0 + 0 + x is x, rounded.
TEST(F16Kernels, RoundAsTheWireDoes) {
  std::vector<float> inputs;
  for (std::uint32_t half = 0; half < 0x7c00; half += 3) {
    const float x = to_float(static_cast<Float16>(half));
    const float middle = (x + to_float(static_cast<Float16>(half + 1))) / 2;
    for (const float near :
         {x, std::nextafter(middle, 0.0F), middle, std::nextafter(middle, 1e9F)}) {
      inputs.push_back(near);
      inputs.push_back(-near);
    }
  }
  for (const float x : {65519.0F, 65520.0F, 65536.0F, 1e9F, INFINITY, 1e-9F, std::nanf("")}) {
    inputs.push_back(x);
    inputs.push_back(-x);
  }
  for_isas([&](const Kernels<Float16>& table) {
    std::vector<Float16> out(inputs.size());
    const std::vector<float> zeros(inputs.size(), -0.0F);
    table.embed(out.data(), zeros.data(), zeros.data(), inputs.data(),
                static_cast<int>(inputs.size()));
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (std::isnan(inputs[i])) {
        EXPECT_TRUE(std::isnan(to_float(out[i])));
      } else {
        EXPECT_EQ(out[i], to_float16(inputs[i])) << inputs[i];
      }
    }
  });
}

// Every kernel drops the same elements.
TYPED_TEST(Kernel, DropoutDropsWhatTheBaselineDraws) {
  using Number = typename TypeParam::Number;
  DropoutRow row;
  row.key[0] = 0x12345678;
  row.sample = 0xfffffff0;
  row.site = 3;
  row.threshold = 32768;
  row.scale = 2;
  const std::vector<Number> ones(1000, number<Number>(1));
  std::vector<Number> y(1000);
  this->table().dropout(y.data(), ones.data(), 1000, row);
  std::uint16_t random[128];
  for (std::size_t i = 0; i < 1000; ++i) {
    if (i % 128 == 0) random_block(random, static_cast<std::uint32_t>(i / 128), row);
    EXPECT_EQ(value(y[i]), random[i % 128] < 32768 ? 0.0F : 2.0F) << i;
  }
}

// Squares that fill a register, and what is left beside and below them.
TEST(Transpose, ExchangesRowsAndColumns) {
  constexpr std::int64_t kFromRow = 45;
  constexpr std::int64_t kToRow = 39;
  std::vector<float> from(37 * kFromRow);
  std::iota(from.begin(), from.end(), 0.0F);
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (!is_supported(isa)) continue;
    for (const std::int64_t rows : {1, 4, 16, 37}) {
      for (const std::int64_t columns : {1, 8, 16, 41}) {
        SCOPED_TRACE(name_of(isa) + ": " + std::to_string(rows) + " x " + std::to_string(columns));
        std::vector<float> to(kFromRow * kToRow, -1.0F);
        transpose(isa, {.to = to.data(),
                        .to_row = kToRow,
                        .from = from.data(),
                        .from_row = kFromRow,
                        .rows = rows,
                        .columns = columns});
        for (std::int64_t j = 0; j < kFromRow; ++j) {
          for (std::int64_t i = 0; i < kToRow; ++i) {
            const bool set = i < rows && j < columns;
            ASSERT_EQ(to[static_cast<std::size_t>(j * kToRow + i)],
                      set ? from[static_cast<std::size_t>(i * kFromRow + j)] : -1.0F)
                << i << ", " << j;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace bp::trainer::kernels
