// When a run warns about its memory.
#include "trainer/train/watch/memory_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace bp::trainer {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = 1 << 20;

// docs/features.md, Evaluation and reports: A warning before memory runs out | always, with the
// trend. If the kernel kills a rank, the report says so.
TEST(MemoryWatch, TellsOnceThatTheProcessGrowsAndWhereThatEnds) {
  MemoryWatch watch;
  std::vector<std::string> told;
  for (std::int64_t step = 50; step <= 1000; step += MemoryWatch::kSteps) {
    const std::uint64_t process = 1000 * kMiB + static_cast<std::uint64_t>(step) * kMiB;
    const std::string text =
        watch.look(step, {.process = process, .used = process, .limit = 4096 * kMiB});
    if (!text.empty()) told.push_back(text);
  }
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0],
            "the memory of this rank grows: 1.0 GiB at step 50, 1.4 GiB at step 450 (1.0 MiB a "
            "step); 1.4 GiB of 4.0 GiB are in use, which would be full at about step 3096");
}

TEST(MemoryWatch, IsSilentOnceTheProcessStopsGrowing) {
  MemoryWatch watch;
  for (std::int64_t step = 50; step <= 2000; step += MemoryWatch::kSteps) {
    // Longer batches come in the first 300 steps.
    const auto grown = static_cast<std::uint64_t>(std::min<std::int64_t>(step, 300));
    EXPECT_EQ(watch.look(step, {.process = (1000 + 2 * grown) * kMiB}), "") << step;
  }
}

TEST(MemoryWatch, TellsOnceThatTheMachineIsNearlyFull) {
  MemoryWatch watch;
  EXPECT_EQ(watch.look(50, {.process = 100 * kMiB, .used = 940 * kMiB, .limit = 1000 * kMiB}), "");
  EXPECT_THAT(watch.look(100, {.process = 100 * kMiB, .used = 951 * kMiB, .limit = 1000 * kMiB}),
              HasSubstr("memory is nearly full at step 100: 951.0 MiB of 1000.0 MiB are in use, "
                        "100.0 MiB by this rank"));
  EXPECT_EQ(watch.look(150, {.process = 100 * kMiB, .used = 990 * kMiB, .limit = 1000 * kMiB}), "");
  EXPECT_EQ(MemoryWatch().look(50, {}), "") << "nothing is known";
}

TEST(MemoryUse, IsReadFromThisMachine) {
  const MemoryUse use = memory_use();
  EXPECT_GT(use.process, kMiB);
  EXPECT_GT(use.limit, use.process);
  EXPECT_GT(use.used, 0U);
  EXPECT_LE(use.used, use.limit);
}

}  // namespace
}  // namespace bp::trainer
