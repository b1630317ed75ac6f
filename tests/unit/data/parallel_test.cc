#include "trainer/common/parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <stdexcept>

#include "base/text.h"

namespace bp::trainer {
namespace {

TEST(ParallelTest, EachJobRunsOnce) {
  for (const std::size_t count : {0, 1, 2, 1000}) {
    std::array<std::atomic<int>, 1000> runs{};
    run_in_parallel(count, [&](std::size_t job) { ++runs.at(job); });
    for (std::size_t job = 0; job < runs.size(); ++job) {
      EXPECT_EQ(runs.at(job), job < count ? 1 : 0);
    }
  }
}

TEST(ParallelTest, TheFirstErrorInTheOrderOfJobsIsThrownWhenAllHaveEnded) {
  std::atomic<int> ended = 0;
  EXPECT_THAT(
      [&] {
        run_in_parallel(500, [&](std::size_t job) {
          ++ended;
          if (job == 7 || job == 8 || job == 400) throw std::runtime_error(concat("job ", job));
        });
      },
      testing::ThrowsMessage<std::runtime_error>("job 7"));
  EXPECT_EQ(ended, 500);
}

}  // namespace
}  // namespace bp::trainer
