// Shows the report in a real browser. The page must fit the width, and the browser must log nothing
// about it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "sample_report.h"
#include "trainer/runs/comparison.h"

namespace bp::trainer {
namespace {

bool chromium_is_installed() { return std::system("command -v chromium >/dev/null 2>&1") == 0; }

std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  std::array<char, 4096> buffer{};
  while (pipe != nullptr) {
    const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe);
    out.append(buffer.data(), n);
    if (n == 0) {
      ::pclose(pipe);
      pipe = nullptr;
    }
  }
  return out;
}

// Returns the messages of the browser's console, one per line. The page is in a frame of the given
// width, because Chromium's window may be wider than requested.
std::string console_at_width(int width, const std::string& page) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / concat("bp_browser_", ::getpid(), '_', width);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "report.html")
      << page
      << "<script>console.log('width ' + innerWidth + ', content ' + "
         "document.documentElement.scrollWidth + ', sections ' + "
         "document.querySelectorAll('section').length)</script>";
  std::ofstream(folder / "frame.html")
      << "<!DOCTYPE html><iframe style=\"border:0\" width=\"" << width
      << "\" height=\"2000\" src=\"report.html\"></iframe>";
  const std::string log =
      output_of(concat("timeout 50 chromium --headless --no-sandbox --disable-gpu "
                       "--hide-scrollbars --disable-dev-shm-usage "
                       "--user-data-dir=",
                       folder / "profile",
                       " --enable-logging=stderr --window-size=1400,2000 "
                       "--dump-dom file://",
                       (folder / "frame.html").string(),
                       " 2>&1 >/dev/null | "
                       "grep -o 'CONSOLE.*' | sed 's/^[^\"]*\"//; s/\", source.*//'"));
  std::filesystem::remove_all(folder);
  return log;
}

// docs/features.md, Evaluation and reports: Charts of loss and scores | `report.html`
TEST(Browser, ShowsThePageWithoutScrollingSidewaysOrWarnings) {
  if (!chromium_is_installed()) {
    GTEST_SKIP() << "chromium is not installed";
  }
  const std::string few = render_report(sample_report());
  EXPECT_EQ(console_at_width(390, few), "width 390, content 390, sections 14\n");
  EXPECT_EQ(console_at_width(1280, few), "width 1280, content 1280, sections 14\n");
  const std::string many = render_report(sample_report_of(1000));
  EXPECT_EQ(console_at_width(390, many), "width 390, content 390, sections 12\n");
}

RunRecord compared_run(int number) {
  RunRecord run{.path = concat("runs/a-run-with-a-rather-long-name-", number),
                .state = RunState::finished,
                .metrics = sample_report().metrics};
  for (StepRecord& step : run.metrics.steps) step.loss += 0.02 * number;
  run.settings = {{"lr", concat(number, "e-4"), ""}, {"data", std::string(200, 'd'), ""}};
  run.main_score = {"accuracy", true};
  return run;
}

TEST(Browser, ShowsSixteenRunsWithoutScrollingSidewaysOrWarnings) {
  if (!chromium_is_installed()) {
    GTEST_SKIP() << "chromium is not installed";
  }
  std::vector<RunRecord> runs;
  for (int i = 0; i < 16; ++i) runs.push_back(compared_run(i));
  const std::string page = comparison_page(runs);
  EXPECT_EQ(console_at_width(390, page), "width 390, content 390, sections 5\n");
  EXPECT_EQ(console_at_width(1280, page), "width 1280, content 1280, sections 5\n");
}

}  // namespace
}  // namespace bp::trainer
