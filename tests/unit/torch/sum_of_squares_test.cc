#include "comm/torch/sum_of_squares.h"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "comm/torch/bucket_layout.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

double sum_of_squares(const at::Tensor& tensor) {
  const ConstView elements = elements_of(tensor);
  std::vector<double> sums(pieces_of(elements.count));
  sums_of_squares(elements, sums);
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

TEST(SumOfSquares, IsExactInEveryTypeAndLayout) {
  // The squares of 0..40 are exact in every type, and 41 elements leave a remainder after the
  // vector lanes.
  for (const auto type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    EXPECT_EQ(sum_of_squares(at::arange(41, type)), 22140.0) << type;
  }
  EXPECT_EQ(sum_of_squares(at::zeros({0})), 0.0);
  EXPECT_EQ(sum_of_squares(at::arange(6, at::kFloat).reshape({2, 3}).t()), 55.0);
}

TEST(SumOfSquares, HasTheSameBitsWithAnyNumberOfThreads) {
  const int before = at::get_num_threads();
  for (const std::int64_t count : {65536, 65537, 1000003}) {
    const at::Tensor x = at::randn({count});
    at::set_num_threads(1);
    const double alone = sum_of_squares(x);
    EXPECT_NEAR(alone, x.to(at::kDouble).square().sum().item<double>(), 1e-9 * alone);
    for (const int threads : {2, 3, 7}) {
      at::set_num_threads(threads);
      EXPECT_EQ(sum_of_squares(x), alone) << count << " by " << threads;
    }
  }
  at::set_num_threads(before);
}

}  // namespace
}  // namespace bp
