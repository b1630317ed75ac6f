// A disk without room, played by a limit on the size of files: what was good stays, the line names
// the file and what is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "bp/error.h"
#include "tests/unit/data/scratch.h"
#include "trainer/data/whole_file.h"
#include "trainer/report/metrics.h"
#include "trainer/report/predictions.h"

namespace bp::trainer {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

// Runs `body` in a process whose files may have 1000 bytes; it must throw an Error (io).
std::string error_of(const Scratch& scratch, const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      body();
    } catch (const Error& error) {
      scratch.write("error", error.what());
      ::_exit(error.code() == ErrorCode::io ? 0 : 2);
    }
    ::_exit(1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::string text = read_file(scratch.path("error"));
  std::filesystem::remove(scratch.path("error"));
  return text;
}

TEST(FullDisk, AWholeFileKeepsItsOldContent) {
  const Scratch scratch;
  const std::string path = scratch.write("report.html", "old");
  EXPECT_THAT(error_of(scratch, [&] { write_whole_file(path, std::string(5000, 'x')); }),
              AllOf(StartsWith("cannot write " + path +
                               ": File too large; about 3.9 KiB more are "
                               "needed, "),
                    ContainsRegex(" are free there$")));
  EXPECT_EQ(read_file(path), "old");
  EXPECT_THAT(scratch.names(), testing::ElementsAre("report.html"));
}

TEST(FullDisk, PredictionsKeepTheOldFile) {
  const Scratch scratch;
  const std::string path = scratch.write("predictions.csv", "old");
  EXPECT_THAT(error_of(scratch,
                       [&] {
                         PredictionsWriter writer(path, {"no", "yes"});
                         const float probabilities[] = {0.25F, 0.75F};
                         for (int i = 1; i < 100; ++i) {
                           writer.add({i, i, 0, 1, probabilities});
                         }
                         writer.finish();
                       }),
              StartsWith("cannot write " + path + ": File too large; about "));
  EXPECT_EQ(read_file(path), "old");
  EXPECT_THAT(scratch.names(), testing::ElementsAre("predictions.csv"));
}

TEST(FullDisk, MetricsEndWithAWholeLine) {
  const Scratch scratch;
  const std::string path = scratch.path("metrics.jsonl");
  EXPECT_THAT(error_of(scratch,
                       [&] {
                         MetricsWriter writer(path);
                         for (int i = 1; i < 100; ++i) {
                           writer.write(StepRecord{.step = i});
                         }
                       }),
              StartsWith("cannot write " + path + ": "));
  const std::string text = read_file(path);
  ASSERT_FALSE(text.empty());
  EXPECT_EQ(text.back(), '\n');
  EXPECT_GT(read_metrics(path).steps.size(), 2U);
}

}  // namespace
}  // namespace bp::trainer
