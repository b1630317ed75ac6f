#include "trainer/batches/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bp::trainer {
namespace {

using testing::ElementsAre;

const std::vector<Sample> kSamples = {
    {7, 1, {2, 5, 3}, {{{0}, {}}, {{1, 0, 1}, {}}, {{}, {0.5, -1}}}},
    {9, 1, {2, 3}, {{{-1}, {}}, {{1, 1}, {}}, {{}, {}}}},
    {8, 4, {2, 6, 7, 8, 3}, {{{2}, {}}, {{0, 0, 0, 1, 1}, {}}, {{}, {2.25}}}}};
const SampleSchema kSchema = {
    {.name = "label", .padding = -1},
    {.name = "token_types", .shape = Shape::per_token},
    {.name = "weights", .element = Element::real, .shape = Shape::ragged, .padding = -7}};

// docs/features.md, Input: Padding to the longest text or to a fixed length | Not needed: bp
// computes tokens only.
TEST(Batch, PadsToTheLongest) {
  const Batch batch = make_batch(kSamples, kSchema, 99);
  EXPECT_EQ(batch.rows, 3);
  EXPECT_EQ(batch.length, 5);
  EXPECT_THAT(batch.token_ids, ElementsAre(2, 5, 3, 99, 99, 2, 3, 99, 99, 99, 2, 6, 7, 8, 3));
  EXPECT_THAT(batch.lengths, ElementsAre(3, 2, 5));
  EXPECT_THAT(batch.sample_ids, ElementsAre(7, 9, 8));
}

TEST(Batch, HasTheArraysOfTheSchema) {
  const Batch batch = make_batch(kSamples, kSchema, 99);
  ASSERT_EQ(batch.arrays.size(), 3U);
  EXPECT_THAT(batch.arrays[0].integers, ElementsAre(0, -1, 2));
  EXPECT_EQ(batch.arrays[0].width, 1);
  EXPECT_THAT(batch.arrays[1].integers, ElementsAre(1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1));
  EXPECT_EQ(batch.arrays[1].width, 5);
  EXPECT_EQ(batch.token_types, batch.arrays[1].integers);
  EXPECT_THAT(batch.arrays[2].reals, ElementsAre(0.5, -1, -7, -7, 2.25, -7));
  EXPECT_THAT(batch.arrays[2].sizes, ElementsAre(2, 0, 1));
  EXPECT_EQ(batch.arrays[2].width, 2);
}

TEST(Batch, RoundsItsLengthUpButNotBeyondTheBound) {
  EXPECT_EQ(make_batch(kSamples, kSchema, 0, 8).length, 8);
  EXPECT_EQ(make_batch(kSamples, kSchema, 0, 8, 6).length, 6);
  EXPECT_EQ(make_batch(kSamples, kSchema, 0, 5, 6).length, 5);
}

TEST(Batch, IsCutIntoRowsOfTheSameWidth) {
  const Batch batch = make_batch(kSamples, kSchema, 99);
  const Batch rows = rows_of(batch, 1, 2);
  EXPECT_EQ(rows.rows, 2);
  EXPECT_EQ(rows.length, 5);
  EXPECT_THAT(rows.token_ids, ElementsAre(2, 3, 99, 99, 99, 2, 6, 7, 8, 3));
  EXPECT_THAT(rows.lengths, ElementsAre(2, 5));
  EXPECT_THAT(rows.sample_ids, ElementsAre(9, 8));
  EXPECT_THAT(rows.text_ids, ElementsAre(1, 4));
  EXPECT_THAT(rows.token_types, ElementsAre(1, 1, 0, 0, 0, 0, 0, 0, 1, 1));
  ASSERT_EQ(rows.arrays.size(), 3U);
  EXPECT_THAT(rows.arrays[0].integers, ElementsAre(-1, 2));
  EXPECT_EQ(rows.arrays[1].width, 5);
  EXPECT_THAT(rows.arrays[2].reals, ElementsAre(-7, -7, 2.25, -7));
  EXPECT_THAT(rows.arrays[2].sizes, ElementsAre(0, 1));
}

TEST(Batch, OfNothingIsEmpty) {
  const Batch batch = make_batch({}, kSchema, 0, 8);
  EXPECT_EQ(batch.rows, 0);
  EXPECT_EQ(batch.length, 0);
  EXPECT_TRUE(batch.token_ids.empty());
}

}  // namespace
}  // namespace bp::trainer
