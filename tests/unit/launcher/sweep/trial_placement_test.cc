#include "launcher/sweep/placement/trial_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bp::launcher::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<HostSlots> pool_of(const std::vector<int>& slots) {
  std::vector<HostSlots> pool;
  for (const int count : slots) {
    pool.push_back({"host" + std::to_string(pool.size()), count, count});
  }
  return pool;
}

// "trial:host*slots+host*slots"
std::vector<std::string> shown(const std::vector<Start>& started) {
  std::vector<std::string> texts;
  for (const Start& start : started) {
    std::string text = std::to_string(start.trial);
    for (const Part& part : start.parts) {
      text += (&part == start.parts.data() ? ":" : "+") + std::to_string(part.host) + "*" +
              std::to_string(part.slots);
    }
    texts.push_back(text);
  }
  return texts;
}

TEST(SweepPlacement, LeavesTheSmallestHole) {
  auto pool = pool_of({4, 2, 3});
  std::vector<Demand> waiting{{1, 2}, {2, 3}, {3, 4}, {4, 1}};
  EXPECT_THAT(shown(starts(pool, waiting)), ElementsAre("1:1*2", "2:2*3", "3:0*4"));
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting[0].trial, 4);
  EXPECT_EQ(waiting[0].overtaken, 0);
}

TEST(SweepPlacement, LetsSmallTrialsFillHoles) {
  auto pool = pool_of({4});
  pool[0].free = 2;
  std::vector<Demand> waiting{{1, 4}, {2, 1}, {3, 3}, {4, 1}, {5, 1}};
  EXPECT_THAT(shown(starts(pool, waiting)), ElementsAre("2:0*1", "4:0*1"));
  ASSERT_EQ(waiting.size(), 3U);
  EXPECT_EQ(waiting[0].overtaken, 2);
  EXPECT_EQ(waiting[1].overtaken, 1);
  EXPECT_EQ(waiting[2].overtaken, 0);
}

TEST(SweepPlacement, SpreadsOverAsFewHostsAsPossible) {
  auto pool = pool_of({2, 3, 4});
  std::vector<Demand> waiting{{1, 3, Spread::any}, {2, 5, Spread::any}, {3, 1, Spread::any}};
  EXPECT_THAT(shown(starts(pool, waiting)), ElementsAre("1:1*3", "2:2*4+0*1", "3:0*1"));
}

TEST(SweepPlacement, ReservesAHostForATrialThatWasOftenOvertaken) {
  auto pool = pool_of({2, 2});
  pool[0].free = 1;
  pool[1].free = 1;
  std::vector<Demand> waiting{{1, 2, Spread::host, 4}, {2, 1}, {3, 1}};
  EXPECT_THAT(shown(starts(pool, waiting)), ElementsAre("2:1*1")) << "host 0 is reserved";
  pool[0].free = 2;
  EXPECT_THAT(shown(starts(pool, waiting)), ElementsAre("1:0*2"));
}

TEST(SweepPlacement, ReservesNothingForATrialThatNoHostCanRun) {
  auto pool = pool_of({2, 4});
  pool[1].slots = pool[1].free = 0;  // lost
  std::vector<Demand> waiting{{1, 4, Spread::host, 100}, {2, 2}};
  EXPECT_FALSE(fits_when_free(waiting[0], pool));
  EXPECT_THAT(shown(starts(pool, waiting)), ElementsAre("2:0*2"));
  EXPECT_TRUE(fits_when_free({1, 6, Spread::any}, pool_of({2, 4})));
  EXPECT_FALSE(fits_when_free({1, 6, Spread::host}, pool_of({2, 4})));
}

}  // namespace
}  // namespace bp::launcher::sweep
