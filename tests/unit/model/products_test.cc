// Products of bf16, as LibTorch computes them here and widened to fp32, which any processor can do;
// and products of fp32 by each of LibTorch's libraries.
#include "trainer/model/passes/products.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bp::trainer {
namespace {

using at::Tensor;

constexpr double kHalfStep = 0x1p-8;  // of bf16: the most that rounding changes, as a share

// Returns numbers of bf16 between -2 and 2, different for each seed.
Tensor numbers(std::int64_t rows, std::int64_t columns, std::int64_t seed) {
  Tensor x =
      at::arange(rows * columns, at::kDouble).mul(0.618034).add(0.31 * static_cast<double>(seed));
  return x.frac().mul(4).sub(2).reshape({rows, columns}).to(at::kBFloat16);
}

// Expects the rounded sums of fp32. `rounding`: how much the last rounding changes, as a share.
void expect_product(const Tensor& a, const Tensor& b, const Tensor& product, double rounding) {
  const Tensor right = at::matmul(a.to(at::kDouble), b.to(at::kDouble));
  const Tensor sizes = at::matmul(a.to(at::kDouble).abs(), b.to(at::kDouble).abs());
  const auto terms = static_cast<double>(a.size(-1));
  const Tensor bound = right.abs() * (rounding * (1 + 0x1p-8)) + sizes * (terms * 0x1p-24);
  const Tensor excess = (product.to(at::kDouble) - right).abs() - bound;
  EXPECT_LE(excess.max().item<double>(), 0);
}

// The layouts of a step: activations by weights, gradients by weights, gradients by activations.
std::array<std::pair<Tensor, Tensor>, 3> layouts() {
  return {std::pair(numbers(70, 130, 1), numbers(50, 130, 2).t()),
          std::pair(numbers(70, 130, 3), numbers(130, 50, 4)),
          std::pair(numbers(130, 70, 5).t(), numbers(130, 50, 6))};
}

class Products : public ::testing::TestWithParam<Bf16Products> {
 protected:
  [[nodiscard]] Tensor multiplied(const Tensor& a, const Tensor& b, at::ScalarType to) const {
    return matrix_product(for_products(a, GetParam()), for_products(b, GetParam()), to);
  }
};

// docs/features.md, Optimization: bf16, fp16 with loss scaling, or the fastest type of the
// processors or GPUs | `--precision`, `--loss-scale`
TEST_P(Products, AreRoundedOnceToBf16) {
  for (const auto& [a, b] : layouts()) {
    const Tensor product = multiplied(a, b, at::kBFloat16);
    EXPECT_EQ(product.scalar_type(), at::kBFloat16);
    expect_product(a, b, product, kHalfStep);
  }
}

// 257 and 259 lie in the middle between two numbers of bf16.
TEST_P(Products, TiesGoToTheEvenNumber) {
  const Tensor a = at::tensor({256., 1., 258., 1.}).reshape({2, 2}).to(at::kBFloat16);
  const Tensor b = at::ones({2, 1}, at::kBFloat16);
  const Tensor sums = multiplied(a, b, at::kBFloat16);
  EXPECT_EQ(sums[0].item<double>(), 256);
  EXPECT_EQ(sums[1].item<double>(), 260);
}

TEST_P(Products, OfBatchesAreRoundedOnce) {
  const Tensor a = at::stack({numbers(17, 33, 1), numbers(17, 33, 2), numbers(17, 33, 3)});
  const Tensor b = at::stack({numbers(9, 33, 4), numbers(9, 33, 5), numbers(9, 33, 6)});
  const Tensor product = matrix_products(
      for_products(a, GetParam()), for_products(b, GetParam()).transpose(1, 2), at::kBFloat16);
  EXPECT_EQ(product.scalar_type(), at::kBFloat16);
  EXPECT_EQ(product.sizes(), (std::vector<std::int64_t>{3, 17, 9}));
  expect_product(a, b.transpose(1, 2), product, kHalfStep);
}

TEST_P(Products, HaveTheSameBitsEachTime) {
  for (const auto& [a, b] : layouts()) {
    EXPECT_TRUE(at::equal(multiplied(a, b, at::kFloat), multiplied(a, b, at::kFloat)));
  }
}

TEST_P(Products, UseTheRoundedWeights) {
  const Tensor master = at::tensor({1., 1. + 0x1p-9, 1. + 0x1p-7, -3.141592653}, at::kFloat);
  const Tensor weight = weight_for_products(master, at::kBFloat16, GetParam());
  EXPECT_TRUE(at::equal(weight.to(at::kFloat), master.to(at::kBFloat16).to(at::kFloat)));
  const bool widens = GetParam() == Bf16Products::widened;
  EXPECT_EQ(weight.scalar_type(), widens ? at::kFloat : at::kBFloat16);
}

INSTANTIATE_TEST_SUITE_P(All,
                         Products,
                         ::testing::Values(Bf16Products::native, Bf16Products::widened),
                         [](const auto& one) {
                           return one.param == Bf16Products::native ? "Native" : "Widened";
                         });

// Gradients of weights stay fp32.
TEST(WidenedProducts, BecomeFp32WithoutRounding) {
  for (const auto& [a, b] : layouts()) {
    const Tensor product = matrix_product(for_products(a, Bf16Products::widened),
                                          for_products(b, Bf16Products::widened), at::kFloat);
    EXPECT_EQ(product.scalar_type(), at::kFloat);
    expect_product(a, b, product, 0);
  }
}

TEST(WidenedProducts, LeaveFp32AsItIs) {
  const Tensor x = at::ones({2, 2}, at::kFloat);
  EXPECT_TRUE(for_products(x, Bf16Products::widened).is_same(x));
  EXPECT_EQ(weight_for_products(x, at::kFloat, Bf16Products::widened).data_ptr(), x.data_ptr());
}

Tensor fp32(std::int64_t rows, std::int64_t columns, std::int64_t seed) {
  return numbers(rows, columns, seed).to(at::kFloat) / 3;
}

// The layouts of a step, of the first tokens' few rows, and one that no library takes without a
// copy; large enough for oneDNN, except for the few rows.
std::vector<std::pair<Tensor, Tensor>> fp32_layouts() {
  return {{fp32(210, 130, 1), fp32(170, 130, 2).t()},
          {fp32(210, 130, 3), fp32(130, 170, 4)},
          {fp32(130, 210, 5).t(), fp32(130, 170, 6)},
          {fp32(7, 130, 7), fp32(170, 130, 8).t()},
          {fp32(210, 140, 9).narrow(1, 5, 130), fp32(140, 170, 10).narrow(0, 3, 130)}};
}

class Fp32 : public ::testing::TestWithParam<Fp32Products> {};

TEST_P(Fp32, AreSumsOfFp32) {
  for (const auto& [a, b] : fp32_layouts()) {
    const Tensor product = matrix_product(a, b, at::kFloat, GetParam());
    EXPECT_EQ(product.sizes(), (std::vector<std::int64_t>{a.size(0), b.size(1)}));
    EXPECT_TRUE(product.is_contiguous());
    expect_product(a, b, product, 0x1p-24);
  }
}

TEST_P(Fp32, HaveTheSameBitsEachTime) {
  for (const auto& [a, b] : fp32_layouts()) {
    EXPECT_TRUE(at::equal(matrix_product(a, b, at::kFloat, GetParam()),
                          matrix_product(a, b, at::kFloat, GetParam())));
  }
}

TEST_P(Fp32, KeepNaNAndInfinity) {
  Tensor a = fp32(210, 130, 1);
  a[3][4] = NAN;
  a[5][6] = INFINITY;
  const Tensor product = matrix_product(a, fp32(130, 170, 2).abs() + 1, at::kFloat, GetParam());
  EXPECT_TRUE(product[3].isnan().all().item<bool>());
  EXPECT_TRUE(product[5].isinf().all().item<bool>());
  EXPECT_EQ(product.isfinite().sum().item<std::int64_t>(), 208 * 170);
}

// oneDNN's stack pointer may point into the heap while it multiplies.
TEST_P(Fp32, SurviveTheHandlersOfSignals) {
  static std::atomic<int> handled;
  handled = 0;
  struct sigaction counts {};
  counts.sa_handler = [](int) { ++handled; };
  counts.sa_flags = SA_RESTART;
  struct sigaction before {};
  ASSERT_EQ(::sigaction(SIGALRM, &counts, &before), 0);
  const itimerval often{{0, 500}, {0, 500}};  // microseconds
  ASSERT_EQ(::setitimer(ITIMER_REAL, &often, nullptr), 0);
  const Tensor dy = fp32(420, 512, 1);
  const Tensor x = fp32(420, 128, 2);
  const Tensor first = matrix_product(dy.t(), x, at::kFloat, GetParam());
  for (int i = 0; i < 200 || handled < 50; ++i) {
    ASSERT_TRUE(at::equal(matrix_product(dy.t(), x, at::kFloat, GetParam()), first));
  }
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
}

INSTANTIATE_TEST_SUITE_P(By,
                         Fp32,
                         ::testing::Values(Fp32Products::mkl, Fp32Products::onednn),
                         [](const auto& one) {
                           return one.param == Fp32Products::mkl ? "Mkl" : "Onednn";
                         });

TEST(AutomaticPrecision, IsBf16WhereProcessorsMultiplyIt) {
  EXPECT_EQ(fastest_precision(true), Precision::bf16);
  EXPECT_EQ(fastest_precision(false), Precision::fp32);
  if (has_bf16_instructions()) {
    EXPECT_EQ(bf16_products(), Bf16Products::native);
  }
}

}  // namespace
}  // namespace bp::trainer
