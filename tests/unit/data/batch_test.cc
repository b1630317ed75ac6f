#include "trainer/data/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bp::trainer {
namespace {

using testing::ElementsAre;

const std::vector<Sample> kSamples = {
    {7, 1, 0, {2, 5, 3}}, {9, 1, -1, {2, 3}}, {8, 4, 2, {2, 6, 7, 8, 3}}};

TEST(Batch, PadsToTheLongest) {
  const Batch batch = make_batch(kSamples, 99);
  EXPECT_EQ(batch.rows, 3);
  EXPECT_EQ(batch.length, 5);
  EXPECT_THAT(batch.token_ids, ElementsAre(2, 5, 3, 99, 99, 2, 3, 99, 99, 99, 2, 6, 7, 8, 3));
  EXPECT_THAT(batch.lengths, ElementsAre(3, 2, 5));
  EXPECT_THAT(batch.labels, ElementsAre(0, -1, 2));
  EXPECT_THAT(batch.sample_ids, ElementsAre(7, 9, 8));
}

TEST(Batch, RoundsItsLengthUpButNotBeyondTheBound) {
  EXPECT_EQ(make_batch(kSamples, 0, 8).length, 8);
  EXPECT_EQ(make_batch(kSamples, 0, 8, 6).length, 6);
  EXPECT_EQ(make_batch(kSamples, 0, 5, 6).length, 5);
}

TEST(Batch, OfNothingIsEmpty) {
  const Batch batch = make_batch({}, 0, 8);
  EXPECT_EQ(batch.rows, 0);
  EXPECT_EQ(batch.length, 0);
  EXPECT_TRUE(batch.token_ids.empty());
}

}  // namespace
}  // namespace bp::trainer
