// When threads sleep sooner, and that they do.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "trainer/train/watch/machine_watch.h"

namespace bp::trainer {
namespace {

using std::chrono::milliseconds;

CoreTime after(milliseconds time, milliseconds used, milliseconds waited) {
  return {std::chrono::steady_clock::time_point(std::chrono::hours(1)) + time, used, waited};
}

TEST(BusyCores, AreFoundOnceByTheTimeThatThreadsWaitWhileOthersRun) {
  BusyCores cores;
  const auto look = [&](int time, int used, int waited) {
    return cores.look(after(milliseconds(time), milliseconds(used), milliseconds(waited)), 2);
  };
  EXPECT_FALSE(look(0, 100, 5000)) << "before training";
  EXPECT_FALSE(look(900, 100, 5900)) << "too early";
  EXPECT_FALSE(look(1000, 1200, 5100)) << "a short wait";
  EXPECT_FALSE(look(3000, 5100, 5900)) << "for threads of its own: it uses both cores";
  EXPECT_FALSE(look(4000, 5200, 5900)) << "it sleeps";
  EXPECT_TRUE(look(5000, 6300, 6800));
  EXPECT_FALSE(look(6000, 7300, 7800)) << "once";
}

TEST(CoreTimeTest, IsReadFromThisMachine) {
  const CoreTime before = core_time();
  const CoreTime now = core_time();
  EXPECT_GE(now.at, before.at);
  EXPECT_GT(now.used, before.used);
  EXPECT_GE(now.waited, before.waited);
}

std::chrono::duration<double> processor_time() {
  rusage used = {};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return std::chrono::duration<double>(seconds(used.ru_utime) + seconds(used.ru_stime));
}

// Between loops that are 3 ms apart, threads would spin all the time.
// docs/features.md, Launching: The number of threads of a rank | bprun sets `OMP_NUM_THREADS`
// within CPU quotas and without hyperthreads. Threads sleep sooner on a machine that others use.
TEST(SleepSooner, ThreadsThatWaitUseLittleTime) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) {
    EXPECT_FALSE(sleep_sooner()) << "the user has chosen";
    return;
  }
  ASSERT_TRUE(sleep_sooner());
  EXPECT_FALSE(sleep_sooner()) << "once";
  const int threads = omp_get_num_procs();
  const auto before = processor_time();
  constexpr int kLoops = 100;
  std::atomic<int> turns = 0;
  for (int i = 0; i < kLoops; ++i) {
#pragma omp parallel num_threads(threads)
    ++turns;
    std::this_thread::sleep_for(milliseconds(3));
  }
  EXPECT_EQ(turns, kLoops * threads);
  EXPECT_LT((processor_time() - before).count(), 0.25 * kLoops * 3e-3 * std::max(1, threads - 1));
}

}  // namespace
}  // namespace bp::trainer
