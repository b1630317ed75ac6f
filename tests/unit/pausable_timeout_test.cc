#include "base/pausable_timeout.h"

#include <gtest/gtest.h>

#include <thread>

namespace bp {
namespace {

using namespace std::chrono_literals;

constexpr PausableTimeout::Clock::time_point kBegin{1h};

TEST(PausableTimeout, IsOverAfterItsLimit) {
  PausableTimeout timeout(8s, kBegin);
  for (auto now = kBegin; now < kBegin + 8s; now += 500ms) {
    timeout.look(now);
    EXPECT_FALSE(timeout.over());
    EXPECT_EQ(timeout.left(), kBegin + 8s - now);
  }
  timeout.look(kBegin + 8s);
  EXPECT_TRUE(timeout.over());
  EXPECT_EQ(timeout.left(), 0ms);
}

TEST(PausableTimeout, SlicesEndWithTheLimit) {
  PausableTimeout timeout(3s, kBegin);
  EXPECT_EQ(timeout.slice().at(), kBegin + 375ms);  // half of a quarter
  for (int reads = 1; reads <= 7; ++reads) timeout.look(kBegin + reads * 400ms);
  EXPECT_EQ(timeout.slice().at(), kBegin + 3s);
}

TEST(PausableTimeout, ReadsAreAtMostASecondApart) {
  EXPECT_EQ(PausableTimeout(1h, kBegin).slice().at(), kBegin + 1s);
}

// Each stop of the process counts for a quarter of the limit, or two seconds if that is less.
TEST(PausableTimeout, LongStopCountsLittle) {
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

// On a machine so busy that every read of the clock is a second late, all time still counts.
TEST(PausableTimeout, LateReadsCountInFull) {
  PausableTimeout timeout(300s, kBegin);
  auto now = kBegin;
  int reads = 0;
  for (; !timeout.over(); ++reads) {
    now = timeout.slice().at() + 1s;
    timeout.look(now);
  }
  EXPECT_EQ(now, kBegin + 300s);
  EXPECT_EQ(reads, 150);
}

TEST(PausableTimeout, EndsHoweverLateItsReadsAre) {
  PausableTimeout timeout(300s, kBegin);
  auto now = kBegin;
  int reads = 0;
  for (; !timeout.over(); ++reads) timeout.look(now += 1h);
  EXPECT_EQ(reads, 150);
}

TEST(PausableTimeout, ZeroIsOverAtOnce) {
  const PausableTimeout timeout(0ms);
  EXPECT_TRUE(timeout.over());
  EXPECT_TRUE(timeout.slice().passed());
}

TEST(PausableTimeout, WaitsForAConditionUpToItsLimit) {
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
