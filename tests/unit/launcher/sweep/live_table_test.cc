#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "launcher/sweep/commands/sweep_progress.h"

namespace bp::launcher::sweep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

LiveTable table_with(int running) {
  LiveTable table{.metric = "dev_accuracy", .progress = "12 of 80 trials ended"};
  table.best = {{.number = 7, .result = 0.9375, .step = 800, .seconds = 61, .what = "lr=1e-5"},
                {.number = 3, .result = 0.5, .step = 800, .seconds = 2, .what = "lr=3e-5"}};
  for (int i = 0; i < running; ++i) {
    table.running.push_back({.number = 20 + i, .seconds = 1, .left = 2.5, .what = "lr=1e-4"});
  }
  table.failed = {{.number = 9, .seconds = 1, .what = "rank 0 exited with code 3"}};
  return table;
}

TEST(SweepLiveTable, ShowsTheBestTheRunningAndTheFailed) {
  EXPECT_THAT(
      live_lines(table_with(1), 100, 20),
      ElementsAre(
          "         trial  dev_accuracy     step      time      left  parameters",
          "best         7        0.9375      800  00:01:01            lr=1e-5",
          "             3           0.5      800     2.0 s            lr=3e-5",
          "running     20                            1.0 s     2.5 s  lr=1e-4",
          "failed       9                            1.0 s            rank 0 exited with code 3",
          "12 of 80 trials ended"));
}

TEST(SweepLiveTable, FitsTheTerminal) {
  for (const std::size_t rows : {5U, 6U, 8U, 12U, 40U}) {
    const auto lines = live_lines(table_with(30), 40, rows);
    EXPECT_LE(lines.size(), rows);
    for (const std::string& line : lines) EXPECT_LE(line.size(), 40U);
    EXPECT_EQ(lines.back(), "12 of 80 trials ended");
  }
  EXPECT_THAT(live_lines(table_with(30), 80, 4), ElementsAre("12 of 80 trials ended"));
}

TEST(SweepLiveTable, SaysHowManyTrialsItLeavesOut) {
  const auto lines = live_lines(table_with(30), 80, 10);
  ASSERT_THAT(lines, SizeIs(10));
  // A head, two of the best, four that run, this line, one that failed, and the progress.
  EXPECT_EQ(lines[7], "        and 26 more");
  EXPECT_THAT(lines[3], HasSubstr("running     20"));
  EXPECT_THAT(lines[6], HasSubstr("23"));
}

}  // namespace
}  // namespace bp::launcher::sweep
