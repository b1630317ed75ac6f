// Output that cannot be written, that would overwrite another job's, or that would control the
// terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "launcher/process/read_file.h"
#include "tests/e2e/launcher/bprun_process.h"
#include "tests/support/scratch.h"

namespace bp::test {
namespace {

using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) {
    ++count;
  }
  return count;
}

std::string text_of_file(const std::string& path) { return launcher::read_file(path).text; }

TEST(LostOutput, OfACommandIsAnErrorOfItsOwn) {
  const auto to = [](const char* redirected, const std::vector<std::string>& arguments) {
    BprunProcess bprun({.arguments = arguments,
                        .before = {"/bin/sh", "-c", concat("exec \"$@\" ", redirected), "sh"}});
    EXPECT_EQ(bprun.finish(), 74) << arguments.front();
    return bprun.err();
  };
  for (const std::vector<std::string>& arguments :
       std::initializer_list<std::vector<std::string>>{{"--help"},
                                                       {"--version"},
                                                       {"--completion", "bash"},
                                                       {"doctor", "--help"},
                                                       {"-n", "2", "--dry-run", "true"}}) {
    EXPECT_EQ(to(">/dev/full", arguments),
              "bprun: cannot write to standard output: No space left on device\n");
  }
  EXPECT_EQ(to(">/dev/full", {"sweep", "--help"}),
            "bprun sweep: cannot write to standard output: No space left on device\n");
  EXPECT_EQ(to(">&-", {"--help"}), "bprun: cannot write to standard output: Bad file descriptor\n");
  EXPECT_EQ(to(">&-", {"sweep", "--help"}),
            "bprun sweep: cannot write to standard output: Bad file descriptor\n");
  const Scratch folder;
  const std::string limit = concat("ulimit -f 1; exec \"$@\" >", folder.path(), "/help");
  BprunProcess limited({.arguments = {"--help"},
                        .environment = {"LC_ALL=C"},  // bash warns of one that is not installed
                        .before = {"/bin/bash", "-c", limit, "bash"}});
  EXPECT_EQ(limited.finish(), 74);
  EXPECT_EQ(limited.err(), "bprun: cannot write to standard output: File too large\n");
}

// docs/acceptance.md, Failures: A full disk behind stdout or `--output` does not end the job.
TEST(LostOutput, AFullDiskDoesNotEndTheJob) {
  const Scratch folder;
  const auto run = [&](const std::string& end) {
    BprunProcess bprun(
        {.arguments = {"-n", "2", "sh", "-c",
                       concat("echo hello; echo there; : >", folder.path(), "/$RANK; ", end)},
         .before = {"/bin/sh", "-c", "exec \"$@\" >/dev/full", "sh"}});
    const int code = bprun.finish();
    EXPECT_EQ(occurrences(bprun.err(),
                          "bprun: warning: stdout (/dev/full) cannot be written: No "
                          "space left on device; the job continues, and this output "
                          "is lost\n"),
              1U)
        << bprun.err();
    EXPECT_THAT(bprun.err(), EndsWith("bprun: 40 bytes of output are lost: stdout (/dev/full): No "
                                      "space left on device\n"));
    EXPECT_THAT(bprun.err(), Not(HasSubstr("SIGPIPE")));
    return code;
  };
  EXPECT_EQ(run("exit 0"), 74);
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/0"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/1"));
  std::filesystem::remove(folder.path() + "/0");  // rank 1 waits until rank 0 has printed
  EXPECT_EQ(run(concat("[ $RANK = 0 ] || { until [ -e ", folder.path(),
                       "/0 ]; do sleep 0.01; done; exit 3; }")),
            3)
      << "the code of a failed rank takes precedence";
}

TEST(LostOutput, OfStderrIsNoticedByTheExitCode) {
  const Scratch folder;
  BprunProcess bprun(
      {.arguments = {"-n", "2", "sh", "-c", concat("echo hello >&2; : >", folder.path(), "/$RANK")},
       .before = {"/bin/sh", "-c", "exec \"$@\" 2>/dev/full", "sh"}});
  EXPECT_EQ(bprun.finish(), 74);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"0", "1"})) << "the job must continue";
}

// `redirected` makes the stream a pipe whose reader ends after the first line.
int code_without_reader(const std::string& redirected, const std::string& program) {
  BprunProcess bprun(
      {.arguments = {"-n", "2", "bash", "-c", program},
       .before = {"/bin/bash", "-c", concat("set -o pipefail; \"$@\" ", redirected), "bash"}});
  return bprun.finish();
}

TEST(OutputWithoutAReader, EndsTheJob) {
  const std::string endless = "while :; do echo x; echo x >&2; sleep 0.01; done";
  for (const char* redirected : {"| head -1", "2>&1 >/dev/null | head -1", "2>&1 | head -1"}) {
    EXPECT_EQ(code_without_reader(redirected, endless), 141) << redirected;
  }
  EXPECT_EQ(code_without_reader("| head -1", "trap 'exit 75' TERM; " + endless), 75)
      << "a rank's own code takes precedence";
}

TEST(LostOutput, AFileAtItsSizeLimitDoesNotEndTheJob) {
  const Scratch folder;
  const std::string file = folder.path() + "/log";
  BprunProcess bprun(
      {.arguments = {"-n", "1", "--output", folder.path() + "/out", "sh", "-c",
                     "printf '%02000d\\n' 1; echo more"},
       .before = {"/bin/bash", "-c", concat("ulimit -f 1; exec \"$@\" >", file), "bash"}});
  EXPECT_EQ(bprun.finish(), 74);
  EXPECT_EQ(std::filesystem::file_size(file), 1024U);
  EXPECT_THAT(bprun.err(), HasSubstr(concat("bprun: 990 bytes of output are lost: stdout (", file,
                                            "): File too large\n")));
  EXPECT_THAT(bprun.err(),
              ContainsRegex("bprun: warning: .*/out/[-0-9a-f]*/rank\\.0/stdout cannot be written: "
                            "File too large; the job continues, and the files of --output are "
                            "incomplete\n"));
  EXPECT_THAT(bprun.err(),
              ContainsRegex("bprun: 982 bytes are missing in the files of --output: .*/out/"));
}

// docs/acceptance.md, Launcher: An output folder belongs to one job, and `latest` points to the
// newest.
// docs/features.md, Evaluation and reports: A log of each rank, with rotation | `bprun --output`,
// `--output-limit`
TEST(OutputFolder, BelongsToOneJobAndLatestPointsToTheNewest) {
  const Scratch folder;
  const std::string parent = folder.path() + "/out";
  const auto run = [&](const std::string& text) {
    BprunProcess bprun({{"-n", "1", "--output", parent, "sh", "-c",
                         concat("echo ", text, "; echo $BP_OUTPUT; exit 4")}});
    EXPECT_EQ(bprun.finish(), 4);
    const std::string latest = std::filesystem::canonical(parent + "/latest").string();
    EXPECT_THAT(bprun.out(), HasSubstr(concat("[0] ", latest, "\n")))
        << "ranks must get the folder for their records";
    EXPECT_THAT(bprun.err(), HasSubstr(concat("\n  logs: ", latest, "/rank.0/stderr\n")));
    EXPECT_THAT(bprun.err(), HasSubstr(concat(" --output ", parent, " ")))
        << "the command to run again must not reuse this job's folder";
    return latest;
  };
  const std::string first = run("one");
  const std::string second = run("two");
  EXPECT_NE(first, second);
  EXPECT_EQ(text_of_file(first + "/rank.0/stdout"), concat("one\n", first, "\n"));
  EXPECT_EQ(text_of_file(second + "/rank.0/stdout"), concat("two\n", second, "\n"));
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(parent)) {
    found.insert(entry.path().string());
  }
  EXPECT_EQ(found, (std::set{first, second, parent + "/latest"}));
}

TEST(OutputFolder, ThatCannotBeCreatedIsNamed) {
  BprunProcess bprun({{"-n", "1", "--output", "/dev/null/out", "true"}});
  EXPECT_NE(bprun.finish(), 0);
  EXPECT_THAT(bprun.first_error_line(),
              ContainsRegex("^bprun: --output: cannot make the folder /dev/null/out/[-0-9a-f]*: "
                            "Not a directory"));
}

// bprun passes a rank's lines unchanged, but escapes what the report quotes of them.
// docs/acceptance.md, Strangers: Text from ranks and other hosts is escaped on the terminal.
TEST(Quoting, TheReportEscapesAndCutsWhatARankWrote) {
  BprunProcess bprun({{"-n", "1", "sh", "-c",
                       "printf '\\033[31mred\\033]0;title\\007\\n' >&2; "
                       "head -c 200000 /dev/zero | tr '\\0' x >&2; echo >&2; exit 3"}});
  EXPECT_EQ(bprun.finish(), 3);
  EXPECT_THAT(bprun.err(), HasSubstr("[0] \x1b[31mred\x1b]0;title\a\n"));
  EXPECT_THAT(bprun.err(), HasSubstr("[0] " + std::string(200'000, 'x') + "\n"));
  const std::string report = bprun.err().substr(bprun.err().find("bprun: FAILED"));
  EXPECT_THAT(report, Not(HasSubstr("\x1b")));
  EXPECT_THAT(report,
              ContainsRegex("    \\| x* \\[\\.\\.\\. [0-9]* bytes left out \\.\\.\\.\\] x*\n"));
  EXPECT_LT(report.size(), 3000U);
  BprunProcess small({{"-n", "1", "sh", "-c", "printf '\\033[31mred\\233\\n' >&2; exit 3"}});
  EXPECT_EQ(small.finish(), 3);
  EXPECT_THAT(small.err(), HasSubstr("\n    | \\x1b[31mred\\x9b\n"));
}

TEST(Quoting, TheOutputOfARemoteShellIsEscaped) {
  BprunProcess bprun({{"-H", "nosuch.invalid:1", "--ssh",
                       fake_ssh("printf '\\033]0;title\\007\\033[2Jno entry' >&2; "
                                "head -c 9000 /dev/zero | tr '\\0' y >&2; exit 255"),
                       "true"}});
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_THAT(bprun.err(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(bprun.err(), HasSubstr("bprun: FAILED  host nosuch.invalid could not be reached: "
                                     "\\x1b]0;title\\x07\\x1b[2Jno entryyy"));
  EXPECT_LT(bprun.err().size(), 2000U);
}

TEST(Lines, WarnsOnceOfLinesThatAreShownInPieces) {
  BprunProcess bprun({{"-n", "2", "sh", "-c",
                       "head -c 1500000 /dev/zero | tr '\\0' x; echo; "
                       "head -c 1500000 /dev/zero | tr '\\0' x; echo"}});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_EQ(occurrences(bprun.err(), "bprun: warning: rank "), 1U) << bprun.err();
  EXPECT_THAT(
      bprun.err(),
      ContainsRegex("rank [01] wrote a line of over 1 MiB to stdout; bprun shows such lines "
                    "in pieces \\(--prefix none shows them whole\\)\n"));
  EXPECT_EQ(std::ranges::count(bprun.out(), 'x'), 6'000'000);
}

}  // namespace
}  // namespace bp::test
