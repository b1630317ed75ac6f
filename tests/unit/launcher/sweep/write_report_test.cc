// From sweep.sqlite to sweep.html.
#include "launcher/sweep/commands/write_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <thread>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/sweep/state/sweep_state.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"

namespace bp::launcher::sweep {
namespace {

class SweepReport : public testing::Test {
 protected:
  SweepReport() {
    SweepState state(scratch_.path());
    state.put_setting("metric", "loss");
    state.put_setting("direction", "min");
    for (int i = 0; i < 12; ++i) {
      TrialRecord trial;
      trial.number = i;
      trial.parameters = {{"x", Value::of_integer(i)}};
      state.save(trial);
      trial.state = i == 0 ? TrialState::failed : TrialState::finished;
      trial.result = 1 + i;
      state.report(trial, {{1, 2.0 + i}, {2, 1.0 + i}});
    }
  }

  const Scratch scratch_;
};

TEST_F(SweepReport, TakesTheBestTrialsAndTheirCurves) {
  SweepReader sweep(scratch_.path());
  const PageData page = page_data_of(sweep);
  EXPECT_EQ(page.metric, "loss");
  ASSERT_EQ(page.trials.size(), 12U);
  EXPECT_EQ(page.trials[0].number, 1) << "trial 0 failed";
  EXPECT_EQ(page.trials[11].number, 0);
  EXPECT_EQ(page.reports.at(9).size(), 2U);
  EXPECT_EQ(page.reports.size(), 10U) << "ten have curves";
  EXPECT_EQ(page.best_folder, scratch_.path("trials/1"));
}

TEST_F(SweepReport, IsWrittenIntoTheFolderOrElsewhere) {
  SweepReader sweep(scratch_.path());
  EXPECT_EQ(write_report(sweep, ""), scratch_.path("sweep.html"));
  EXPECT_EQ(write_report(sweep, scratch_.path("other")), scratch_.path("other"));
  for (const char* name : {"sweep.html", "other"}) {
    const std::string html = read_file(scratch_.path(name));
    EXPECT_TRUE(html.ends_with("</html>\n")) << name;
    EXPECT_NE(html.find("<h2>Learning curves</h2>"), std::string::npos) << name;
  }
}

TEST_F(SweepReport, IsWrittenThroughLinksAndPipesAndReplacesNone) {
  SweepReader sweep(scratch_.path());
  std::filesystem::create_symlink("linked.html", scratch_.path("link"));
  (void)write_report(sweep, scratch_.path("link"));
  EXPECT_TRUE(std::filesystem::is_symlink(scratch_.path("link")));
  EXPECT_TRUE(read_file(scratch_.path("linked.html")).ends_with("</html>\n"));
  const std::string pipe = scratch_.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = read_file(pipe); });
  (void)write_report(sweep, pipe);
  reader.join();
  EXPECT_TRUE(read.ends_with("</html>\n"));
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(SweepReport, NamesTheFileThatItCannotWrite) {
  SweepReader sweep(scratch_.path());
  EXPECT_EQ(bp::test::error_of([&] { return write_report(sweep, "/nowhere/a.html"); }),
            "invalid_argument: cannot write /nowhere/a.html: its folder does not exist");
  EXPECT_EQ(bp::test::error_of([&] { return write_report(sweep, scratch_.path()); }),
            concat("invalid_argument: cannot write ", scratch_.path(), ": it is a folder"));
  for (const auto& entry : std::filesystem::directory_iterator(scratch_.path())) {
    EXPECT_EQ(entry.path().string().find(".part-"), std::string::npos) << entry.path();
  }
}

}  // namespace
}  // namespace bp::launcher::sweep
