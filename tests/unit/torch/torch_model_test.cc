#include "tests/support/torch_model.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <limits>

namespace bp {
namespace {

using test::distance;

TEST(Distance, NanAnywhereExceedsEveryTolerance) {
  const at::Tensor zeros = at::zeros({3});
  at::Tensor with_nan = at::zeros({3});
  with_nan[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(distance({with_nan, zeros}, {zeros, zeros}) < 1e30);
  EXPECT_FALSE(distance({zeros, with_nan}, {zeros, zeros}) < 1e30);
  EXPECT_EQ(distance({zeros, at::full({3}, 2)}, {zeros, zeros}), 2);
}

TEST(Distance, NothingToCompareIsAnError) {
  EXPECT_ANY_THROW((void)distance({}, {}));
  EXPECT_ANY_THROW((void)distance({at::zeros({0})}, {at::zeros({0})}));
  EXPECT_ANY_THROW((void)distance({at::zeros({3})}, {}));
  EXPECT_ANY_THROW((void)distance({at::zeros({3})}, {at::zeros({1})}));
}

}  // namespace
}  // namespace bp
