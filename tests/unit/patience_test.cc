#include "comm/base/patience.h"

#include <gtest/gtest.h>

#include <thread>

namespace bp {
namespace {

using namespace std::chrono_literals;

constexpr Patience::Clock::time_point kBegin{1h};

TEST(Patience, IsOverAfterItsLimit) {
  Patience patience(8s, kBegin);
  for (auto now = kBegin; now < kBegin + 8s; now += 500ms) {
    patience.look(now);
    EXPECT_FALSE(patience.over());
    EXPECT_EQ(patience.left(), kBegin + 8s - now);
  }
  patience.look(kBegin + 8s);
  EXPECT_TRUE(patience.over());
  EXPECT_EQ(patience.left(), 0ms);
}

TEST(Patience, SlicesEndWithTheLimit) {
  Patience patience(3s, kBegin);
  EXPECT_EQ(patience.slice().at(), kBegin + 375ms);  // the half of a quarter
  for (int looks = 1; looks <= 7; ++looks) patience.look(kBegin + looks * 400ms);
  EXPECT_EQ(patience.slice().at(), kBegin + 3s);
}

TEST(Patience, LooksAreAtMostASecondApart) {
  EXPECT_EQ(Patience(1h, kBegin).slice().at(), kBegin + 1s);
}

// Each time in which the process stood counts for a quarter of the limit, or two seconds.
TEST(Patience, ANightCountsLittle) {
  Patience short_one(4s, kBegin);
  short_one.look(kBegin + 12h);
  EXPECT_EQ(short_one.left(), 3s);
  EXPECT_EQ(short_one.slice().at(), kBegin + 12h + 500ms);
  Patience long_one(300s, kBegin);
  long_one.look(kBegin + 1s);
  long_one.look(kBegin + 12h);
  long_one.look(kBegin + 12h + 1s);
  EXPECT_EQ(long_one.left(), 296s);
}

// A machine so busy that every look is late by as much again: nothing is lost.
TEST(Patience, LooksThatAreLateCountInFull) {
  Patience patience(300s, kBegin);
  auto now = kBegin;
  int looks = 0;
  for (; !patience.over(); ++looks) {
    now = patience.slice().at() + 1s;
    patience.look(now);
  }
  EXPECT_EQ(now, kBegin + 300s);
  EXPECT_EQ(looks, 150);
}

TEST(Patience, EndsHoweverLateItsLooksAre) {
  Patience patience(300s, kBegin);
  auto now = kBegin;
  int looks = 0;
  for (; !patience.over(); ++looks) patience.look(now += 1h);
  EXPECT_EQ(looks, 150);
}

TEST(Patience, NoLimitIsOverAtOnce) {
  const Patience patience(0ms);
  EXPECT_TRUE(patience.over());
  EXPECT_TRUE(patience.slice().passed());
}

TEST(Patience, WaitsForAConditionNoLongerThanItLasts) {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::unique_lock lock(mutex);
  const Deadline earliest(50ms);
  EXPECT_FALSE(wait_patiently(changed, lock, Patience(50ms), [&] { return done; }));
  EXPECT_TRUE(earliest.passed());
  std::thread other([&] {
    const std::lock_guard hold(mutex);
    done = true;
    changed.notify_one();
  });
  EXPECT_TRUE(wait_patiently(changed, lock, Patience(1h), [&] { return done; }));
  lock.unlock();
  other.join();
}

}  // namespace
}  // namespace bp
