// How many rows a pass may have, by what passes have allocated before.
#include "trainer/train/watch/memory_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace bp::trainer {
namespace {

using Lengths32 = std::vector<std::int32_t>;

TEST(PassMemory, FollowsWhatPassesHaveAllocated) {
  PassMemory passes(EncoderSpec{});
  const Lengths32 batch(32, 100);
  const double before = passes.need(batch);
  EXPECT_GT(before, 0);
  EXPECT_EQ(passes.known(batch), 0);
  EXPECT_TRUE(passes.is_new(batch));
  passes.learn(batch, 64'000'000);
  EXPECT_FALSE(passes.is_new(batch));
  EXPECT_FALSE(passes.is_new(Lengths32(16, 100)));
  EXPECT_TRUE(passes.is_new(Lengths32(32, 101)));
  EXPECT_DOUBLE_EQ(passes.known(batch), 64e6);
  EXPECT_DOUBLE_EQ(passes.known(Lengths32(16, 100)), 32e6);
  EXPECT_NEAR(passes.need(batch), 1.3 * 64e6, 1);
  passes.learn(Lengths32(33, 100), 1);  // another pass that allocated less changes nothing
  EXPECT_DOUBLE_EQ(passes.known(batch), 64e6);
}

TEST(PassMemory, SaysHowManyTextsFitAtOnce) {
  PassMemory passes(EncoderSpec{});
  Lengths32 batch(32, 100);
  passes.learn(batch, 64'000'000);
  EXPECT_EQ(passes.most_rows(batch, 84e6), 0);
  EXPECT_EQ(passes.most_rows(batch, 80e6), 30);
  EXPECT_EQ(passes.most_rows(batch, 8e6), 3);
  EXPECT_EQ(passes.most_rows(batch, -1e9), 1);
  // Short texts beside a long one: pieces of any rows fit.
  for (std::size_t i = 1; i < batch.size(); ++i) batch[i] = 10;
  EXPECT_EQ(passes.most_rows(batch, 84e6), 0);
  EXPECT_EQ(passes.most_rows(batch, 6e6), 2);
}

}  // namespace
}  // namespace bp::trainer
