// Which output of the ranks bprun shows, and how.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/text.h"
#include "tests/e2e/launcher/bprun_process.h"

namespace bp::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Output, ShowsTheChosenRanksAndKeepsAllInFiles) {
  const auto folder = std::filesystem::path(testing::TempDir()) / concat("shown-", ::getpid());
  BprunProcess bprun({{"-n", "4", "--show-ranks", "3,0-1", "--output", folder.string(), "sh", "-c",
                       "echo out $RANK; echo err $RANK >&2"}});
  EXPECT_EQ(bprun.finish(), 0);
  for (const char* rank : {"0", "1", "3"}) {
    EXPECT_THAT(bprun.out(), HasSubstr(concat("[", rank, "] out ", rank, "\n")));
    EXPECT_THAT(bprun.err(), HasSubstr(concat("[", rank, "] err ", rank, "\n")));
  }
  EXPECT_THAT(bprun.out() + bprun.err(), Not(HasSubstr("[2]")));
  std::ifstream hidden(folder / "latest" / "rank.2" / "stdout");
  std::string line;
  EXPECT_TRUE(std::getline(hidden, line) && line == "out 2");
  std::filesystem::remove_all(folder);
}

TEST(Output, TheReportQuotesARankThatIsNotShown) {
  BprunProcess bprun(
      {{"-n", "2", "--show-ranks", "0", "sh", "-c", "[ $RANK = 0 ] || { echo why >&2; exit 3; }"}});
  EXPECT_EQ(bprun.finish(), 3);
  EXPECT_THAT(bprun.err(), HasSubstr("  last stderr of rank 1:\n    | why\n"));
  EXPECT_THAT(bprun.err(), StartsWith("bprun: FAILED  rank 1 "));
}

TEST(Output, RanksToShowMustExist) {
  BprunProcess beyond({{"-n", "2", "--show-ranks", "0-2", "true"}});
  EXPECT_EQ(beyond.finish(), 2);
  EXPECT_EQ(beyond.first_error_line(),
            "bprun: --show-ranks names rank 2, but the ranks of this job are 0 to 1");
  BprunProcess wrong({{"-n", "2", "--show-ranks", "all", "true"}});
  EXPECT_EQ(wrong.finish(), 2);
  EXPECT_EQ(wrong.first_error_line(), "bprun: --show-ranks must be ranks such as 0,2-3, not 'all'");
}

TEST(Output, QuietHidesBprunsMessagesExceptTheReport) {
  BprunProcess stopped({{"-q", "-n", "1", rank_program(), "pause"}});
  ASSERT_TRUE(stopped.wait_for("[0] ready\n"));
  stopped.signal(SIGTERM);
  EXPECT_EQ(stopped.finish(), 128 + SIGTERM);
  EXPECT_EQ(stopped.err(), "");
  BprunProcess failed({{"--quiet", "-n", "1", "sh", "-c", "echo seen; exit 4"}});
  EXPECT_EQ(failed.finish(), 4);
  EXPECT_EQ(failed.out(), "[0] seen\n");
  EXPECT_THAT(failed.err(), StartsWith("bprun: FAILED  rank 0 "));
}

TEST(Output, ColoursAreOffByDefaultAndOnByRequest) {
  const std::string program = "echo out; exit 3";
  BprunProcess plain({{"-n", "1", "sh", "-c", program}});
  EXPECT_EQ(plain.finish(), 3);
  EXPECT_THAT(plain.out() + plain.err(), Not(HasSubstr("\x1b")));
  BprunProcess asked({{"-n", "1", "--color", "always", "sh", "-c", program}});
  EXPECT_EQ(asked.finish(), 3);
  EXPECT_EQ(asked.out(), "\x1b[36m[0]\x1b[0m out\n");
  EXPECT_THAT(asked.err(), StartsWith("\x1b[1;31mbprun: FAILED  rank 0 "));
  BprunProcess wrong({{"--color", "sometimes", "true"}});
  EXPECT_EQ(wrong.finish(), 2);
  EXPECT_EQ(wrong.first_error_line(),
            "bprun: --color must be auto, always or never, not 'sometimes'");
}

// The ranks wait for each other first, so that even on a busy machine some warn at almost the same
// time.
// docs/acceptance.md, Launcher: A warning of several ranks is shown once.
TEST(Output, AWarningOfSeveralRanksIsShownOnce) {
  const auto folder = std::filesystem::path(testing::TempDir()) / concat("warn-", ::getpid());
  std::filesystem::create_directories(folder);
  BprunProcess bprun(
      {{"-n", "6", "sh", "-c",
        concat("cd ", folder.string(), "; touch $RANK; ",
               "until [ -e 0 -a -e 1 -a -e 2 -a -e 3 -a -e 4 -a -e 5 ]; do "
               "sleep 0.01; done; echo \"$RANK.py:7: UserWarning: this is old\" >&2; "
               "echo \"rank $RANK is here\" >&2")}});
  EXPECT_EQ(bprun.finish(), 0);
  int lines = 0;
  int ranks = 0;
  std::istringstream err(bprun.err());
  for (std::string line; std::getline(err, line);) {
    if (line.find(".py:7: UserWarning: this is old") != std::string::npos) {
      const std::size_t count = line.find(" [x");
      ranks += count == std::string::npos ? 1 : std::stoi(line.substr(count + 3));
      ++lines;
    }
  }
  EXPECT_EQ(ranks, 6) << bprun.err();
  EXPECT_LT(lines, 6) << bprun.err();
  EXPECT_THAT(bprun.err(), HasSubstr("[5] rank 5 is here\n"));
  std::filesystem::remove_all(folder);
}

// A progress bar stays below all other output, fits the width of the terminal, and leaves its last
// state.
// docs/acceptance.md, Launcher: On a terminal rank 0's progress bar is redrawn below the rest.
TEST(Output, OnATerminalTheBarOfRankZeroIsRedrawnBelowTheRest) {
  const auto file = [](const char* name) {
    return (std::filesystem::path(testing::TempDir()) / concat(name, "-", ::getpid())).string();
  };
  const std::string log = file("log");
  const std::string other = file("other");
  const std::string end = file("end");
  const std::string program =
      concat("await() { until [ -e \"$1\" ]; do sleep 0.01; done; }; ",
             "if [ $RANK = 0 ]; then printf '\\r\\033[K[=>  ] 1 of ", std::string(60, 'x'),
             "' >&2; await ", log, "; echo a log; await ", end,
             "; printf '\\r\\033[K[====] 4 in '$BP_TERMINAL_COLUMNS'\\n' >&2; ", "else await ",
             other, "; echo '\xc3\xa4 line'; await ", end, "; fi");
  BprunProcess bprun({.arguments = {"-n", "2", "--color", "never", "sh", "-c", program},
                      .environment = {"TERM=xterm", "NO_COLOR="},
                      .terminal = true});
  const std::string bar = "[0] [=>  ] 1 of " + std::string(23, 'x');  // 39 columns
  EXPECT_TRUE(bprun.wait_for(bar));
  std::ofstream{log};
  EXPECT_TRUE(bprun.wait_for("\r\x1b[K[0] a log\n" + bar));
  std::ofstream{other};
  EXPECT_TRUE(bprun.wait_for("\r\x1b[K[1] \xc3\xa4 line\n" + bar));
  std::ofstream{end};
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_THAT(bprun.out(), EndsWith(bar + "\r\x1b[K[0] [====] 4 in 35\n"));
  EXPECT_THAT(bprun.out(), Not(HasSubstr(std::string(24, 'x')))) << "a wider bar would wrap";
  for (const std::string& made : {log, other, end}) {
    std::filesystem::remove(made);
  }
}

TEST(Output, ColoursAreOnForATerminal) {
  const auto output_with = [](const char* variable) {
    BprunProcess bprun({.arguments = {"-n", "1", "echo", "hi"},
                        .environment = {"TERM=xterm", variable},
                        .terminal = true});
    EXPECT_EQ(bprun.finish(), 0);
    return bprun.out();
  };
  EXPECT_EQ(output_with("NO_COLOR="), "\x1b[36m[0]\x1b[0m hi\n");
  EXPECT_EQ(output_with("NO_COLOR=1"), "[0] hi\n");
}

}  // namespace
}  // namespace bp::test
