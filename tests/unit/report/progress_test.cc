#include "trainer/report/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>

#include "base/system/fd.h"
#include "base/terminal_columns.h"
#include "bp/log.h"

namespace bp::trainer {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A clock that the test sets, and the text that was written.
struct Screen {
  Progress::Clock::time_point now{};
  std::string text;
  int columns = 80;

  Progress::Output output(bool terminal) {
    return {.terminal = terminal,
            .write = [this](std::string_view more) { text += more; },
            .now = [this] { return now; },
            .columns = [this] { return columns; }};
  }
  std::string taken() { return std::exchange(text, ""); }
};

// docs/features.md, Evaluation and reports: Progress with loss and rate | stderr, `metrics.jsonl`
TEST(Progress, RedrawsOneLineOnATerminal) {
  Screen screen;
  Progress progress(100, screen.output(true));
  for (int step = 1; step <= 4; ++step) {
    screen.now += milliseconds(50);
    progress.update({.step = step, .samples = 32 * step, .loss = 0.7});
  }
  // The line is drawn at 100 ms and at 200 ms. A step has 32 samples and takes 50 ms.
  EXPECT_EQ(screen.taken(),
            "[>                   ] 2/100  loss 0.7000  640 samples/s"
            "\r\x1b[K"
            "[>                   ] 4/100  loss 0.7000  640 samples/s");
  for (int step = 5; step <= 50; ++step) {
    screen.now += milliseconds(200);
    progress.update({.step = step, .samples = 32 * step, .loss = 0.25});
  }
  const std::string all = screen.taken();
  const std::string last = all.substr(all.rfind('['));
  EXPECT_THAT(last, testing::StartsWith("[==========>         ] 50/100  loss 0.2500  1"));
  EXPECT_THAT(last, testing::EndsWith(" samples/s  0:10 left"));
  progress.finish();
  EXPECT_EQ(screen.taken(), "\n");
}

TEST(Progress, LogLinesAreNotGluedToTheRedrawnLine) {
  Screen screen;
  {
    Progress progress(100, screen.output(true));
    screen.now += milliseconds(100);
    progress.update({.step = 1, .samples = 32, .loss = 0.7});
    (void)screen.taken();
    log(LogLevel::warn, "other processes use the cores");
    EXPECT_THAT(screen.taken(),
                testing::MatchesRegex("\r\x1b\\[K[0-9:.]+ W other processes use the cores\n"));
    screen.now += milliseconds(100);
    progress.update({.step = 2, .samples = 64, .loss = 0.7});
    EXPECT_THAT(screen.taken(), testing::StartsWith("[>                   ] 2/100"));
  }
  testing::internal::CaptureStderr();
  log(LogLevel::warn, "later");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::EndsWith(" W later\n"));
  (void)screen.taken();
}

TEST(Progress, CountsSkippedSteps) {
  Screen screen;
  Progress progress(100, screen.output(true));
  screen.now += milliseconds(100);
  progress.update({.step = 1, .samples = 32, .loss = 0.7, .skipped = 1});
  EXPECT_EQ(screen.taken(), "[>                   ] 1/100  loss 0.7000  1 skipped  320 samples/s");
}

TEST(Progress, WritesALineEveryTenSecondsWithoutATerminal) {
  Screen screen;
  {
    Progress progress(8, screen.output(false));
    for (int step = 1; step <= 8; ++step) {
      screen.now += seconds(4);
      progress.update({.step = step, .samples = 4000 * step, .loss = 1.5});
    }
  }
  EXPECT_EQ(screen.text,
            "step 3/8 (37%)  loss 1.5000  1,000 samples/s\n"
            "step 6/8 (75%)  loss 1.5000  1,000 samples/s  0:08 left\n"
            "step 8/8 (100%)  loss 1.5000  1,000 samples/s\n");
}

TEST(Progress, CountsOnlyTimeInTraining) {
  Screen screen;
  Progress progress(10, screen.output(false));
  for (int step = 1; step <= 6; ++step) {
    screen.now += seconds(60);  // an evaluation
    progress.resume_clock();
    screen.now += seconds(1);
    progress.update({.step = step, .samples = step, .loss = 1});
  }
  EXPECT_THAT(screen.text,
              testing::EndsWith("step 6/10 (60%)  loss 1.0000  1.0 samples/s  0:04 left\n"));
}

// docs/features.md, Evaluation and reports: The time left | the progress line
TEST(Progress, MeasuresAResumedRunFromItsFirstStep) {
  Screen screen;
  Progress progress(1000, screen.output(false));
  screen.now += seconds(1);
  progress.update({.step = 501, .samples = 501, .loss = 1});
  for (int step = 502; step <= 511; ++step) {
    screen.now += seconds(1);
    progress.update({.step = step, .samples = step, .loss = 1});
  }
  EXPECT_THAT(screen.text, testing::HasSubstr("1.0 samples/s  8:10 left\n"));
}

TEST(Progress, OtherLinesAppearAboveTheRedrawnOne) {
  Screen screen;
  Progress progress(2, screen.output(true));
  screen.now += seconds(1);
  progress.update({.step = 1, .samples = 1, .loss = 1});
  (void)screen.taken();
  progress.say("saved step 1");
  EXPECT_EQ(screen.taken(), "\r\x1b[Ksaved step 1\n");
}

TEST(Progress, NeverWrapsANarrowTerminal) {
  Screen screen;
  screen.columns = 30;
  Progress progress(2, screen.output(true));
  screen.now += seconds(1);
  progress.update({.step = 1, .samples = 1, .loss = 1});
  EXPECT_EQ(screen.taken(), "[==========>         ] 1/2  l");
}

// Returns whether stderr_output() takes `fd` as stderr for a terminal, and how wide, when bprun has
// set kTerminalColumns to `columns`.
std::pair<bool, int> seen_behind(int fd, const char* columns) {
  ::setenv(kTerminalColumns, columns, 1);
  const Fd before(::dup(STDERR_FILENO));
  ::dup2(fd, STDERR_FILENO);
  const Progress::Output output = Progress::stderr_output();
  const std::pair seen{output.terminal, output.columns()};
  ::dup2(before.get(), STDERR_FILENO);
  ::unsetenv(kTerminalColumns);
  return seen;
}

TEST(Progress, IsRedrawnOnTheTerminalBehindBprun) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const Fd read(pipe[0]);
  const Fd write(pipe[1]);
  EXPECT_EQ(seen_behind(write.get(), "33"), (std::pair{true, 33}));
  EXPECT_EQ(seen_behind(write.get(), "0"), (std::pair{false, 80}));
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(seen_behind(::fileno(file), "33").first, false)
      << "the rank has redirected stderr to a file";
  std::fclose(file);
}

// Any thread may write a log line, and no line may be torn.
TEST(Progress, TakesLinesFromOtherThreads) {
  Screen screen;
  Progress progress(1000, screen.output(true));
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) {
      progress.say("from the other thread");
    }
  });
  for (int step = 1; step <= 1000; ++step) {
    progress.update({.step = step, .samples = step, .loss = 1});
  }
  other.join();
  progress.finish();
  std::size_t lines = 0;
  for (std::size_t at = 0;
       (at = screen.text.find("from the other thread\n", at)) != std::string::npos; ++at) {
    ++lines;
  }
  EXPECT_EQ(lines, 100U);
}

}  // namespace
}  // namespace bp::trainer
