#include "comm/torch/bucket_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <vector>

namespace bp {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t kMiB = 1 << 20;
constexpr BucketLimits kUsual = {.first_bytes = kMiB, .bytes = 4 * kMiB};

GradientSize f32(std::size_t count) { return {.count = count}; }
GradientSize bf16(std::size_t count) { return {.count = count, .type = DataType::bf16}; }

std::vector<std::size_t> parameters_of(const BucketPlan& bucket) {
  std::vector<std::size_t> parameters;
  for (const Slot& slot : bucket.slots) {
    parameters.push_back(slot.parameter);
  }
  return parameters;
}

std::vector<BucketPlan> reverse(std::span<const GradientSize> sizes) {
  return plan_buckets(sizes, reverse_order(sizes.size()), kUsual);
}

// docs/acceptance.md, Optimizer: Buckets have known parameters and limits. The first one is
// smaller.
TEST(BucketLayout, FillsInReverseOrderOfRegistration) {
  const GradientSize sizes[] = {f32(10), f32(20), f32(30)};
  const auto plan = reverse(sizes);
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_THAT(parameters_of(plan[0]), ElementsAre(2, 1, 0));
}

TEST(BucketLayout, SlotsBeginAt64BytesAndDoNotOverlap) {
  const GradientSize sizes[] = {f32(5), f32(17), f32(1)};
  const auto plan = reverse(sizes);
  ASSERT_EQ(plan[0].slots.size(), 3U);
  EXPECT_EQ(plan[0].slots[0].offset, 0U);
  EXPECT_EQ(plan[0].slots[1].offset, 16U);
  EXPECT_EQ(plan[0].slots[2].offset, 48U);
  EXPECT_EQ(plan[0].count, 53U);
}

TEST(BucketLayout, FirstBucketIsSmallerThanTheOthers) {
  const std::vector<GradientSize> sizes(40, f32(kMiB / 16));  // 256 KiB each
  const auto plan = reverse(sizes);
  ASSERT_EQ(plan.size(), 4U);
  EXPECT_EQ(plan[0].slots.size(), 4U);
  EXPECT_EQ(plan[1].slots.size(), 16U);
  EXPECT_EQ(plan[2].slots.size(), 16U);
  EXPECT_EQ(plan[3].slots.size(), 4U);
}

TEST(BucketLayout, GradientLargerThanTheLimitHasItsOwnBucket) {
  const GradientSize sizes[] = {f32(10), f32(2 * kMiB), f32(10)};
  const auto plan = reverse(sizes);
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_THAT(parameters_of(plan[1]), ElementsAre(1));
}

TEST(BucketLayout, TypesDoNotMixAndBucketsComeInOrderOfCompletion) {
  const GradientSize sizes[] = {f32(8), bf16(8), f32(8), bf16(8)};
  const auto plan = reverse(sizes);
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_EQ(plan[0].type, DataType::bf16);
  EXPECT_THAT(parameters_of(plan[0]), ElementsAre(3, 1));
  EXPECT_EQ(plan[1].type, DataType::f32);
  EXPECT_THAT(parameters_of(plan[1]), ElementsAre(2, 0));
}

TEST(BucketLayout, LastBucketIsF32EvenWithoutAGradientInIt) {
  const GradientSize sizes[] = {bf16(8), f32(8)};
  const auto plan = reverse(sizes);
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_EQ(plan[1].type, DataType::bf16);
  EXPECT_EQ(plan[2].type, DataType::f32);
  EXPECT_EQ(plan[2].count, 0U);
}

TEST(BucketLayout, FollowsAnyOtherOrder) {
  const GradientSize sizes[] = {f32(8), bf16(8), f32(8), bf16(8)};
  const std::size_t order[] = {0, 2, 3, 1};
  const auto plan = plan_buckets(sizes, order, kUsual);
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_THAT(parameters_of(plan[0]), ElementsAre(0, 2));
  EXPECT_THAT(parameters_of(plan[1]), ElementsAre(3, 1));
  EXPECT_EQ(plan[2].count, 0U);
}

// docs/acceptance.md, Optimizer: Other types than f32 stay as they are on the wire.
TEST(BucketLayout, NarrowsF32OnTheWireAndNothingElse) {
  const GradientSize sizes[] = {f32(8), bf16(8)};
  const auto plan = plan_buckets(sizes, reverse_order(2), {.bytes = kMiB, .wire = DataType::f16});
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_EQ(plan[0].wire, DataType::bf16);
  EXPECT_EQ(plan[1].type, DataType::f32);
  EXPECT_EQ(plan[1].wire, DataType::f16);
  EXPECT_EQ(plan[2].wire, DataType::f32) << "the totals must be f32";
}

TEST(BucketLayout, HalvesAlignInBytes) {
  const GradientSize sizes[] = {bf16(1), bf16(33)};
  EXPECT_EQ(reverse(sizes)[0].slots[1].offset, 64U);
}

// docs/acceptance.md, Optimizer: A rank owns whole pieces of gradients, whatever lies before them.
TEST(BucketLayout, RanksOwnWholePiecesOfGradients) {
  constexpr std::size_t kPiece = kSquaresPiece;
  const GradientSize sizes[] = {f32(3 * kPiece + 5), f32(20), f32(2 * kPiece)};
  const auto plan = plan_buckets(sizes, reverse_order(3), {.first_bytes = 4 * kMiB});
  ASSERT_EQ(plan.size(), 1U);
  // The slots begin at 0, 2 kPiece and 2 kPiece + 32, and end at 5 kPiece + 37.
  const auto owned = [&](const std::vector<double>& shares) {
    return owned_counts(plan[0], shares);
  };
  EXPECT_THAT(owned({1}), ElementsAre(5 * kPiece + 37));
  EXPECT_THAT(owned({1, 1}), ElementsAre(2 * kPiece + 32, 3 * kPiece + 5));
  EXPECT_THAT(owned({1, 1, 1}), ElementsAre(2 * kPiece, kPiece + 32, 2 * kPiece + 5));
  EXPECT_THAT(owned({2, 2, 2, 2}), ElementsAre(kPiece, kPiece + 32, 2 * kPiece, kPiece + 5));
  EXPECT_THAT(owned({0, 3, 1}), ElementsAre(0, 4 * kPiece + 32, kPiece + 5));
  EXPECT_THAT(owned({0.1, 0.2, 0}), ElementsAre(2 * kPiece, 3 * kPiece + 37, 0));
}

TEST(BucketLayout, ARankMayOwnNothing) {
  const GradientSize sizes[] = {f32(100)};
  EXPECT_THAT(owned_counts(reverse(sizes)[0], std::vector<double>{1, 1, 1}),
              ElementsAre(0, 100, 0));
  EXPECT_THAT(owned_counts(BucketPlan(), std::vector<double>{1, 2}), ElementsAre(0, 0));
}

}  // namespace
}  // namespace bp
