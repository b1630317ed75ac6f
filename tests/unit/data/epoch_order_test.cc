// The order of the rows in each epoch: shuffled, or the short ones first.
#include "trainer/data/epoch_order.h"

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
  [[nodiscard]] static Rows order(double curriculum, std::int64_t epoch) {
    auto lengths = std::make_shared<std::vector<std::int32_t>>();
    for (std::int64_t row = 0; row < kOrdered; ++row) lengths->push_back(length_of(row));
    const EpochOrder order({kOrdered, 7, curriculum, lengths});
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

}  // namespace
}  // namespace bp::trainer
