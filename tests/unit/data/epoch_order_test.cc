// The order of the rows in each epoch: shuffled, or the short ones first.
#include "trainer/batches/epoch_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "base/permutation.h"

namespace bp::trainer {
namespace {

using Rows = std::vector<std::int64_t>;
constexpr std::int64_t kOrdered = 100;

std::int32_t length_of(std::int64_t row) { return static_cast<std::int32_t>(row % 10 + 2); }

class EpochOrderTest : public ::testing::Test {
 protected:
  [[nodiscard]] static Rows order(double curriculum, std::int64_t epoch, std::int64_t group = 0) {
    auto lengths = std::make_shared<std::vector<std::int32_t>>();
    for (std::int64_t row = 0; row < kOrdered; ++row) lengths->push_back(length_of(row));
    const EpochOrder order({kOrdered, 7, curriculum, group, lengths});
    Rows rows;
    for (std::int64_t i = 0; i < kOrdered; ++i) rows.push_back(order.row(epoch, i));
    return rows;
  }
  [[nodiscard]] static Rows drawn(std::int64_t epoch) {
    Rows rows;
    for (std::int64_t i = 0; i < kOrdered; ++i) rows.push_back(permuted(i, kOrdered, 7, epoch));
    return rows;
  }
  // Whether the rows are in the order of their lengths, and those of one length as drawn.
  [[nodiscard]] static bool ascends(Rows rows, std::int64_t epoch) {
    Rows expected = drawn(epoch);
    std::ranges::stable_sort(expected, {}, length_of);
    expected.resize(rows.size());
    return rows == expected;
  }
};

TEST_F(EpochOrderTest, WithoutACurriculumIsThePermutation) {
  EXPECT_EQ(order(0, 0), drawn(0));
  EXPECT_EQ(order(0, 3), drawn(3));
}

// docs/features.md, Splits and batches: Short texts first | `--curriculum`
TEST_F(EpochOrderTest, ACurriculumOfEpochsBeginsWithTheShortRows) {
  for (const std::int64_t epoch : {0, 1}) {
    EXPECT_TRUE(ascends(order(2, epoch), epoch)) << epoch;
  }
  EXPECT_EQ(order(2, 2), drawn(2)) << "it is over";
}

TEST_F(EpochOrderTest, APartOfAnEpochIsAsManyOfTheShortestRows) {
  EXPECT_TRUE(ascends(order(1.3, 0), 0));
  const Rows rows = order(1.3, 1);
  EXPECT_TRUE(ascends({rows.begin(), rows.begin() + 30}, 1));
  Rows rest = drawn(1);  // the others are in the order that was drawn
  std::erase_if(rest, [&](std::int64_t row) {
    return std::find(rows.begin(), rows.begin() + 30, row) != rows.begin() + 30;
  });
  EXPECT_EQ(Rows(rows.begin() + 30, rows.end()), rest);
}

// 100 rows of ten lengths are 16 groups of 6, all in one window, and 4 rows that are left over.
// docs/features.md, Splits and batches: Batches of texts of similar length, with a size by length |
// `--group-lengths`, `--max-tokens`
TEST_F(EpochOrderTest, GroupsHaveRowsOfSimilarLengthAndComeInRandomOrder) {
  const Rows rows = order(0, 1, 6);
  const Rows others = order(0, 2, 6);
  Rows all = rows;
  std::ranges::sort(all);
  for (std::int64_t row = 0; row < kOrdered; ++row) {
    EXPECT_EQ(all[static_cast<std::size_t>(row)], row);
  }
  int rises = 0;
  for (std::size_t first = 0; first < 96; first += 6) {
    const std::int32_t shortest = length_of(rows[first]);
    EXPECT_LE(length_of(rows[first + 5]) - shortest, 1) << first;
    if (first > 0 && shortest > length_of(rows[first - 6])) ++rises;
  }
  EXPECT_GT(rises, 3);
  EXPECT_LT(rises, 12) << "not in the order of the lengths";
  EXPECT_EQ(Rows(rows.begin() + 96, rows.end()), [] {
    const Rows last = drawn(1);
    return Rows(last.begin() + 96, last.end());
  }());
  EXPECT_NE(rows, others);
}

TEST_F(EpochOrderTest, GroupsFollowTheCurriculum) {
  const Rows rows = order(0.5, 0, 4);
  EXPECT_TRUE(ascends({rows.begin(), rows.begin() + 50}, 0));
  for (std::size_t first = 50; first < 98; first += 4) {
    EXPECT_LE(length_of(rows[first + 3]) - length_of(rows[first]), 1);
  }
}

}  // namespace
}  // namespace bp::trainer
