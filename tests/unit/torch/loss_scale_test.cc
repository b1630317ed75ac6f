// Tests the loss scale by itself, window by window.
#include "comm/torch/loss_scale.h"

#include <gtest/gtest.h>

#include <limits>

#include "bp/error.h"

namespace bp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(LossScaleRule, FollowsOverflowsAndGoodWindows) {
  LossScale scale({.initial = 8, .growth = 4, .backoff = 0.25, .interval = 2});
  EXPECT_EQ(scale.value(), 8);
  EXPECT_EQ(scale.update(false), 1);
  EXPECT_EQ(scale.good_windows(), 1);
  EXPECT_EQ(scale.update(false), 4);
  EXPECT_EQ(scale.value(), 32);
  EXPECT_EQ(scale.good_windows(), 0);
  EXPECT_EQ(scale.update(false), 1);
  EXPECT_EQ(scale.update(true), 0.25);
  EXPECT_EQ(scale.value(), 8);
  EXPECT_EQ(scale.good_windows(), 0) << "an overflow must reset the count";
  scale.restore(16, 1);
  EXPECT_EQ(scale.update(false), 4);
  EXPECT_EQ(scale.value(), 64);
}

TEST(LossScaleRule, StopsAtTheLargestAndTheSmallestFactor) {
  LossScale large({.initial = 0x1p59, .interval = 1});
  EXPECT_EQ(large.update(false), 2);
  EXPECT_EQ(large.value(), 0x1p60);
  EXPECT_EQ(large.update(false), 1);
  EXPECT_EQ(large.value(), 0x1p60);
  LossScale small({.initial = 0x1p-15});
  EXPECT_EQ(small.update(true), 0.5);
  EXPECT_EQ(small.value(), 0x1p-16);
  EXPECT_EQ(small.update(true), 1);
  EXPECT_EQ(small.value(), 0x1p-16);
}

TEST(LossScaleRule, OfNoneIsAlways1) {
  LossScale none({});
  EXPECT_FALSE(none.is_used());
  EXPECT_EQ(none.update(true), 1);
  none.restore(4, 3);
  EXPECT_EQ(none.value(), 1);
  EXPECT_EQ(none.good_windows(), 0);
}

TEST(LossScaleRule, EachOptionHasItsBounds) {
  for (const LossScaling& wrong : {LossScaling{.initial = -1},
                                   {.initial = kInfinity},
                                   {.growth = 0.99},
                                   {.growth = kInfinity},
                                   {.backoff = 0},
                                   {.backoff = 1},
                                   {.interval = 0}}) {
    EXPECT_THROW(LossScale{wrong}, Error)
        << wrong.initial << ' ' << wrong.growth << ' ' << wrong.backoff << ' ' << wrong.interval;
  }
  for (const LossScaling& right :
       {LossScaling{}, {.growth = 1}, {.backoff = 0.99}, {.interval = 1}}) {
    EXPECT_NO_THROW(LossScale{right});
  }
}

}  // namespace
}  // namespace bp
