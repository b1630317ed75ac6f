#include "base/pausable_timeout.h"

#include <gtest/gtest.h>

#include <thread>

namespace bp {
namespace {

using namespace std::chrono_literals;

constexpr PausableTimeout::Clock::time_point kBegin{1h};

TEST(PausableTimeout, IsOverAfterItsLimit) {
  PausableTimeout patience(8s, kBegin);
  for (auto now = kBegin; now < kBegin + 8s; now += 500ms) {
    patience.look(now);
    EXPECT_FALSE(patience.over());
    EXPECT_EQ(patience.left(), kBegin + 8s - now);
  }
  patience.look(kBegin + 8s);
  EXPECT_TRUE(patience.over());
  EXPECT_EQ(patience.left(), 0ms);
}

TEST(PausableTimeout, SlicesEndWithTheLimit) {
  PausableTimeout patience(3s, kBegin);
  EXPECT_EQ(patience.slice().at(), kBegin + 375ms);  // the half of a quarter
  for (int looks = 1; looks <= 7; ++looks) patience.look(kBegin + looks * 400ms);
  EXPECT_EQ(patience.slice().at(), kBegin + 3s);
}

TEST(PausableTimeout, LooksAreAtMostASecondApart) {
  EXPECT_EQ(PausableTimeout(1h, kBegin).slice().at(), kBegin + 1s);
}

// Each time in which the process stood counts for a quarter of the limit, or two seconds.
TEST(PausableTimeout, ANightCountsLittle) {
  PausableTimeout short_one(4s, kBegin);
  short_one.look(kBegin + 12h);
  EXPECT_EQ(short_one.left(), 3s);
  EXPECT_EQ(short_one.slice().at(), kBegin + 12h + 500ms);
  PausableTimeout long_one(300s, kBegin);
  long_one.look(kBegin + 1s);
  long_one.look(kBegin + 12h);
  long_one.look(kBegin + 12h + 1s);
  EXPECT_EQ(long_one.left(), 296s);
}

// A machine so busy that every look is late by as much again: nothing is lost.
TEST(PausableTimeout, LooksThatAreLateCountInFull) {
  PausableTimeout patience(300s, kBegin);
  auto now = kBegin;
  int looks = 0;
  for (; !patience.over(); ++looks) {
    now = patience.slice().at() + 1s;
    patience.look(now);
  }
  EXPECT_EQ(now, kBegin + 300s);
  EXPECT_EQ(looks, 150);
}

TEST(PausableTimeout, EndsHoweverLateItsLooksAre) {
  PausableTimeout patience(300s, kBegin);
  auto now = kBegin;
  int looks = 0;
  for (; !patience.over(); ++looks) patience.look(now += 1h);
  EXPECT_EQ(looks, 150);
}

TEST(PausableTimeout, NoLimitIsOverAtOnce) {
  const PausableTimeout patience(0ms);
  EXPECT_TRUE(patience.over());
  EXPECT_TRUE(patience.slice().passed());
}

TEST(PausableTimeout, WaitsForAConditionNoLongerThanItLasts) {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::unique_lock lock(mutex);
  const Deadline earliest(50ms);
  EXPECT_FALSE(wait_with_timeout(changed, lock, PausableTimeout(50ms), [&] { return done; }));
  EXPECT_TRUE(earliest.passed());
  std::thread other([&] {
    const std::lock_guard hold(mutex);
    done = true;
    changed.notify_one();
  });
  EXPECT_TRUE(wait_with_timeout(changed, lock, PausableTimeout(1h), [&] { return done; }));
  lock.unlock();
  other.join();
}

}  // namespace
}  // namespace bp
