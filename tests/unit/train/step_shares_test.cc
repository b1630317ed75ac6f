#include "trainer/train/loop/step_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/input_error.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Rows = std::vector<std::int64_t>;

Topology two_hosts() {
  Topology topology;
  topology.local_sizes = {2, 1};
  topology.host_names = {"a", "b"};
  return topology;
}

// The last of three ranks has half of the others' speed.
std::vector<double> seconds_of(const Rows& rows) {
  return {static_cast<double>(rows[0]), static_cast<double>(rows[1]),
          2 * static_cast<double>(rows[2])};
}

TEST(StepShares, OfHostsAreDividedAmongTheirRanks) {
  const StepShares shares("a:4,b:1", two_hosts(), {}, 0);
  ASSERT_THAT(shares.all(), SizeIs(1));
  EXPECT_THAT(shares.all()[0].rows, ElementsAre(400000, 400000, 200000));
  EXPECT_THROW(StepShares("a:4,c:1", two_hosts(), {}, 0), InputError);
  EXPECT_THAT(StepShares("equal", two_hosts(), {{.from_step = 0, .rows = {1, 2, 3}}}, 0).all(),
              IsEmpty());
}

TEST(StepShares, MoveSomeStepsAfterTheRanksHaveSeenThatOneIsSlow) {
  StepShares shares("auto", two_hosts(), {}, 0);
  Rows rows = {10, 10, 10};
  std::optional<RowShares> moved;
  std::int64_t step = 0;
  for (; step < 50 && !moved; ++step) {
    // An epoch's last step does not count.
    if (step == 7) {
      EXPECT_FALSE(shares.add({step++, Rows{1, 1, 1}, std::vector<double>{9, 1, 1}, 6}));
    }
    moved = shares.add({step, rows, seconds_of(rows), 6});
  }
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->from_step, step - 1 + 6);
  EXPECT_THAT(moved->rows, ElementsAre(12, 12, 6));
  // Steps on their way have the old shares and say nothing about the new ones.
  for (; step < moved->from_step; ++step) {
    EXPECT_FALSE(shares.add({step, rows, seconds_of(rows), 6}));
    EXPECT_THAT(shares.all(), SizeIs(1));
  }
  rows = moved->rows;
  for (; step < 100; ++step) EXPECT_FALSE(shares.add({step, rows, seconds_of(rows), 6}));
}

// docs/acceptance.md, Unequal machines: `--share auto` follows the speed of ranks also where steps
// have different numbers of rows.
TEST(StepShares, OfTokensMoveThoughEachStepHasOtherNumbers) {
  StepShares shares("auto", two_hosts(), {}, 0);
  Rows now = {1, 1, 1};
  std::optional<RowShares> moved;
  const auto step = [&](std::int64_t number) {
    Rows tokens;
    std::vector<double> seconds;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      tokens.push_back(now[rank] * (100 + number * 37 % 50 + static_cast<std::int64_t>(rank)));
      seconds.push_back(static_cast<double>(tokens[rank]) * (rank == 2 ? 2 : 1));
    }
    return shares.add({number, Rows{3, 9, number + 1}, seconds, 6, tokens});
  };
  std::int64_t number = 0;
  while (number < 50 && !moved) moved = step(number++);
  ASSERT_TRUE(moved);
  EXPECT_THAT(moved->rows, ElementsAre(77, 77, 38));
  now = moved->rows;
  while (number < 150) EXPECT_FALSE(step(number++)) << number;
}

// docs/features.md, Launching: Work by the weights of hosts | `weight=` of a host
// docs/acceptance.md, Unequal machines: Shares begin with the weights of hosts in bprun's list.
TEST(StepShares, BeginWithTheWeightsOfHosts) {
  const std::vector<double> weights = {1, 1, 0.5};
  for (const char* const asked : {"weights", "auto"}) {
    const StepShares shares(asked, two_hosts(), {}, 0, weights);
    ASSERT_THAT(shares.all(), SizeIs(1));
    EXPECT_THAT(shares.all()[0].rows, ElementsAre(400000, 400000, 200000));
  }
  EXPECT_THAT(StepShares("equal", two_hosts(), {}, 0, weights).all(), IsEmpty());
  EXPECT_THAT(StepShares("weights", two_hosts(), {}, 0).all(), IsEmpty());
  const std::vector<RowShares> saved = {{.from_step = 10, .rows = {12, 12, 6}}};
  EXPECT_THAT(StepShares("auto", two_hosts(), saved, 40, weights).all()[0].rows,
              ElementsAre(12, 12, 6));
}

TEST(StepShares, OfACheckpointCountIfTheyAreOfAsManyRanks) {
  const std::vector<RowShares> saved = {{.from_step = 10, .rows = {12, 12, 6}},
                                        {.from_step = 44, .rows = {10, 10, 10}}};
  StepShares shares("auto", two_hosts(), saved, 40);
  EXPECT_THAT(shares.all(), SizeIs(2));
  EXPECT_FALSE(shares.add({43, Rows{12, 12, 6}, std::vector<double>{1, 1, 1}, 6}));
  EXPECT_THAT(shares.all(), SizeIs(1)) << "those of step 44 are the only ones from then on";
  Topology one;
  EXPECT_THAT(StepShares("auto", one, saved, 40).all(), IsEmpty());
}

}  // namespace
}  // namespace bp::trainer
