// What the folder of a run says.
// docs/acceptance.md, Runs: A run that is finished, in progress, stopped, failed or damaged has a
// report, and so has a predictions.csv alone.
#include "trainer/runs/run_record.h"

#include <gmock/gmock.h>

#include <cmath>
#include <sstream>
#include <string>

#include "runs_fixture.h"
#include "tests/unit/data/input_refusal.h"
#include "trainer/prepare/lease.h"
#include "trainer/runs/comparison.h"
#include "trainer/runs/run_report.h"

namespace bp::trainer {
namespace {

using bp::trainer::test::RunsFixture;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class RunRecordTest : public RunsFixture {};

TEST_F(RunRecordTest, OfAFinishedRunHasItsResult) {
  make_run({.name = "a", .dev = 0.9, .test = 0.8, .outcome = "finished"});
  const RunRecord run = read_run(path("a/"));
  EXPECT_EQ(run.path, path("a"));
  EXPECT_EQ(run.state, RunState::finished);
  EXPECT_EQ(run.task(), "classify");
  EXPECT_EQ(run.steps(), 40);
  EXPECT_EQ(run.train_seconds(), 20);
  EXPECT_EQ(run.samples_per_second(), 64);
  EXPECT_EQ(run.test("accuracy"), 0.8);
  ASSERT_NE(run.best_dev(), nullptr);
  EXPECT_EQ(run.best_dev()->step, 40);
  EXPECT_EQ(run.begun(), "2026-11-24T03:02:00Z");
}

TEST_F(RunRecordTest, OfARunInProgressCountsWhatIsLogged) {
  make_run({.name = "a"});
  Lease lease(path("a/lease"));
  ASSERT_TRUE(lease.try_take());
  const RunRecord run = read_run(path("a"));
  EXPECT_EQ(run.state, RunState::running);
  EXPECT_EQ(run.steps(), 40);
  EXPECT_DOUBLE_EQ(run.train_seconds(), 20);
  EXPECT_DOUBLE_EQ(run.samples_per_second(), 64);
  EXPECT_TRUE(std::isnan(run.test("accuracy")));
}

TEST_F(RunRecordTest, SaysHowARunEnded) {
  make_run({.name = "stopped", .outcome = "stopped"});
  make_run({.name = "failed", .outcome = "failed"});
  make_run({.name = "killed"});
  // Killed: its lease is that of a process that has ended.
  { Lease lease(path("killed/lease")); }
  EXPECT_EQ(read_run(path("stopped")).state, RunState::stopped);
  EXPECT_EQ(read_run(path("failed")).state, RunState::failed);
  EXPECT_EQ(read_run(path("failed")).why, "a reason");
  EXPECT_EQ(read_run(path("killed")).state, RunState::failed);
  EXPECT_EQ(read_run(path("killed")).why, "its process ended before it could say why");
}

TEST_F(RunRecordTest, RefusesWhatIsNoRunAndNamesADamagedFile) {
  EXPECT_THAT(test::input_refusal([&] { (void)read_run(path()); }),
              HasSubstr("66: " + path() + " is not the folder of a run: it has no config.yaml"));
  make_run({.name = "a", .test = 0.5});
  write("a/summary.json", "{\"task\":3}");
  EXPECT_THAT(test::input_refusal([&] { (void)read_run(path("a")); }),
              HasSubstr("65: " + path("a/summary.json")));
  write("a/summary.json", "{}");
  write("a/metrics.jsonl", "nonsense\n");
  EXPECT_THAT(test::input_refusal([&] { (void)read_run(path("a")); }),
              HasSubstr("65: " + path("a/metrics.jsonl") + ", line 1"));
}

TEST_F(RunRecordTest, IsComparedWithOthers) {
  make_run({.name = "x/a", .dev = 0.9, .test = 0.8});
  make_run({.name = "y/a", .dev = 0.7, .lr = "0.01"});
  const std::vector<RunRecord> runs = {read_run(path("x/a")), read_run(path("y/a"))};
  EXPECT_THAT(short_names(runs), ElementsAre("x/a", "y/a"));
  EXPECT_EQ(comparison_text(runs),
            "run     state  best dev accuracy  at step  last dev    test  train loss  steps  time  "
            "rows/s\n"
            "x/a  finished             0.9000       40    0.9000  0.8000      0.2500     40  0:20  "
            "  64.0\n"
            "y/a    failed             0.7000       40    0.7000       -      0.2500     40  0:20  "
            "  64.0\n"
            "\n"
            "setting    x/a   y/a\n"
            "lr       0.001  0.01\n");
  EXPECT_EQ(comparison_text(runs, 80),
            "               best dev    at    last           train\n"
            "run     state  accuracy  step     dev    test    loss  steps  time  rows/s\n"
            "x/a  finished    0.9000    40  0.9000  0.8000  0.2500     40  0:20    64.0\n"
            "y/a    failed    0.7000    40  0.7000       -  0.2500     40  0:20    64.0\n"
            "\n"
            "setting    x/a   y/a\n"
            "lr       0.001  0.01\n");
  for (const int columns : {40, 60, 79}) {
    std::istringstream lines(comparison_text(runs, columns));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(static_cast<int>(line.size()), columns) << line;
    }
  }
  EXPECT_THAT(comparison_text(runs, 40),
              HasSubstr("\n\n              train\nrun    test    loss  steps  time  rows/s\n"));
  const std::string page = comparison_page(runs);
  EXPECT_THAT(page, AllOf(HasSubstr("<h2>dev accuracy</h2>"), HasSubstr("<h2>train loss</h2>"),
                          HasSubstr("run run-1"), HasSubstr("run run-2"), HasSubstr(">0.01<"),
                          Not(HasSubstr("http://"))));
}

// The charts have as many colours; the tables have all runs.
TEST_F(RunRecordTest, ThePageOfManyRunsDrawsTheBest) {
  std::vector<RunRecord> runs;
  for (int i = 0; i < 20; ++i) {
    const std::string name = concat("r", i, "x");
    make_run({.name = name, .dev = 0.5 + 0.01 * i});
    runs.push_back(read_run(path(name)));
  }
  const std::string page = comparison_page(runs);
  const auto count = [&](const std::string& text) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = page.find(text, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  EXPECT_THAT(page, HasSubstr("Of the 16 runs with the best scores of 20."));
  EXPECT_EQ(count("data-name=\"r3x\""), 0U);
  EXPECT_EQ(count("data-name=\"r4x\""), count("data-name=\"r19x\""));
  EXPECT_GT(count("data-name=\"r4x\""), 0U);
  EXPECT_GT(count("r0x"), 0U) << "the tables have it";
}

TEST_F(RunRecordTest, IsShownOnTheTerminalAndAsAPage) {
  make_run({.name = "a", .dev = 0.9, .test = 0.8, .outcome = "finished"});
  write("a/predictions.csv",
        "sample_id,text_id,label,prediction,p_no,p_yes\n1,1,no,no,0.900000,0.100000\n"
        "2,2,yes,no,0.600000,0.400000\n");
  const RunRecord run = read_run(path("a"));
  const ScoredFile scored = score_predictions(run);
  EXPECT_THAT(run_text(run, scored),
              AllOf(HasSubstr("state     finished\n"),
                    HasSubstr("best dev  accuracy 0.9000 at step 40, epoch 2\n"),
                    HasSubstr("accuracy    0.9000    0.9000  0.8000\n"),
                    HasSubstr("test: accuracy 0.5000"), HasSubstr("weighted avg")));
  const std::string page = render_report(report_of(run, scored));
  EXPECT_THAT(page, AllOf(HasSubstr("Confusion matrix, test split"), HasSubstr("<h2>Scores</h2>"),
                          HasSubstr("metrics.jsonl in " + path("a") + "."),
                          HasSubstr("ranks 0 to 1"), Not(HasSubstr("<blockquote>"))));
}

}  // namespace
}  // namespace bp::trainer
