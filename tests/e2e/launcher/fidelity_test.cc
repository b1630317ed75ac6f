// Arguments, environment, stdin and output arrive unchanged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "tests/e2e/launcher/bprun_process.h"
#include "tests/support/places.h"
#include "tests/support/scratch.h"

namespace bp::test {
namespace {

using testing::Contains;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> entries_of(const std::string& path) {
  std::istringstream stream(read_file(path));
  std::vector<std::string> entries;
  for (std::string entry; std::getline(stream, entry, '\0');) {
    entries.push_back(entry);
  }
  return entries;
}

// docs/acceptance.md, Launcher: Every byte but NUL arrives in arguments and variables, over ssh
// too.
TEST(Fidelity, EveryByteButNulArrives) {
  std::string every_byte;
  for (int byte = 1; byte < 256; ++byte) {
    every_byte += static_cast<char>(byte);
  }
  const Scratch folder;
  const std::vector<std::string> odd{every_byte, "",   " a  b ",    "$HOME `x` 'y' \"z\"",
                                     "-n",       "--", "line\nline"};
  std::vector<std::string> arguments{"-n", "1", rank_program(), "dump", folder.path() + "/dump"};
  arguments.insert(arguments.end(), odd.begin(), odd.end());
  BprunProcess bprun({arguments, "", {"ODD.name=" + every_byte, "EMPTY="}});
  ASSERT_EQ(bprun.finish(), 0) << bprun.err();
  const auto entries = entries_of(folder.path() + "/dump.0");
  ASSERT_GT(entries.size(), odd.size() + 3);
  EXPECT_EQ(std::vector<std::string>(entries.begin() + 3, entries.begin() + 3 + std::ssize(odd)),
            odd);
  EXPECT_THAT(entries, Contains("ODD.name=" + every_byte));
  EXPECT_THAT(entries, Contains("EMPTY="));
}

// docs/acceptance.md, Launcher: Each rank gets its variables. `localhost:2,127.0.0.1:2` are two
// hosts.
// docs/features.md, Launching: Any program | `bprun PROGRAM`
TEST(Fidelity, EachRankGetsItsVariables) {
  const Scratch folder;
  BprunProcess bprun({{"-H", "localhost:2,127.0.0.1:1", "--env", "GIVEN=1", rank_program(), "dump",
                       folder.path() + "/dump"},
                      "",
                      {"OMP_NUM_THREADS=7", "BP_ENGINE=none"}});
  ASSERT_EQ(bprun.finish(), 0) << bprun.err();
  const std::vector<std::vector<std::string>> expected = {
      {"RANK=0", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=2", "GROUP_RANK=0", "BP_HOST_RANK=0"},
      {"RANK=1", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2", "GROUP_RANK=0", "BP_HOST_RANK=0"},
      {"RANK=2", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1", "GROUP_RANK=1", "BP_HOST_RANK=1"}};
  for (std::size_t rank = 0; rank < expected.size(); ++rank) {
    SCOPED_TRACE(rank);
    const auto entries = entries_of(folder.path() + "/dump." + std::to_string(rank));
    for (const std::string& entry : expected[rank]) {
      EXPECT_THAT(entries, Contains(entry));
    }
    for (const char* entry :
         {"WORLD_SIZE=3", "GROUP_WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", "BP_LOCAL_SIZES=2,1",
          "BP_HOST_NAMES=localhost,127.0.0.1", "OMP_NUM_THREADS=7", "GIVEN=1"}) {
      EXPECT_THAT(entries, Contains(entry));
    }
    EXPECT_THAT(entries, Not(Contains(testing::StartsWith("BP_ENGINE="))));
    for (const char* name : {"MASTER_PORT=", "BP_STORE=127.0.0.1:", "BP_JOB=", "BP_KEY_FD="}) {
      EXPECT_THAT(entries, Contains(testing::StartsWith(name)));
    }
  }
}

// docs/acceptance.md, Launcher: Each rank runs once.
// docs/features.md, Launching: Several ranks on one machine | `bprun -n 4`
TEST(Fidelity, EachRankRunsOnce) {
  const Scratch folder;
  BprunProcess bprun({{"-n", "4", "sh", "-c", "echo . >>" + folder.path() + "/$RANK"}});
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    files.insert(entry.path().filename());
    EXPECT_EQ(read_file(entry.path()), ".\n");
  }
  EXPECT_EQ(files, (std::set<std::string>{"0", "1", "2", "3"}));
}

// docs/acceptance.md, Launcher: Rank 0 alone gets stdin.
TEST(Fidelity, OnlyRankZeroGetsStdin) {
  const std::string text = "first\n" + std::string(1'000'000, 'x') + "\nlast";
  BprunProcess bprun({{"-n", "3", "sh", "-c", "wc -c"}, text});
  EXPECT_EQ(bprun.finish(), 0);
  std::istringstream out(bprun.out());
  std::multiset<std::string> lines;
  for (std::string line; std::getline(out, line);) {
    lines.insert(line);
  }
  EXPECT_EQ(lines,
            (std::multiset<std::string>{"[0] " + std::to_string(text.size()), "[1] 0", "[2] 0"}));
}

TEST(Fidelity, StdinOfALoopIsLeftToIt) {
  BprunProcess shell({.arguments = {"-n", "2", "--stdin", "none", "wc", "-c"},
                      .standard_input = "one\ntwo\n",
                      .before = {"/bin/sh", "-c", "while read -r x; do \"$@\"; done", "sh"}});
  EXPECT_EQ(shell.finish(), 0);
  std::istringstream out(shell.out());
  std::multiset<std::string> lines;
  for (std::string line; std::getline(out, line);) lines.insert(line);
  EXPECT_EQ(lines, (std::multiset<std::string>{"[0] 0", "[0] 0", "[1] 0", "[1] 0"})) << shell.err();
}

TEST(Fidelity, StdinThatNoRankReadsDoesNoHarm) {
  BprunProcess bprun({{"-n", "2", "true"}, std::string(3'000'000, 'x')});
  EXPECT_EQ(bprun.finish(), 0);
}

TEST(Output, NoLineIsLostOrTorn) {
  constexpr int kLines = 50'000;
  BprunProcess bprun(
      {{"-H", "localhost:2,127.0.0.1:1", rank_program(), "lines", std::to_string(kLines)}});
  EXPECT_EQ(bprun.finish(), 0);
  std::istringstream stream(bprun.out());
  std::vector<int> next(3);
  for (std::string line; std::getline(stream, line);) {
    const auto rank = static_cast<std::size_t>(line[1] - '0');
    ASSERT_LT(rank, next.size());
    std::ostringstream wanted;
    wanted << '[' << rank << "] rank " << rank << " line " << next[rank]++;
    ASSERT_EQ(line, wanted.str());
  }
  EXPECT_EQ(next, std::vector<int>(3, kLines));
}

TEST(Output, StreamsStaySeparateAndLastLinesAreCompleted) {
  BprunProcess bprun({{"-n", "1", "sh", "-c", "printf 'out a\\nout b'; printf 'err a' >&2"}});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_EQ(bprun.out(), "[0] out a\n[0] out b\n");
  EXPECT_EQ(bprun.err(), "[0] err a\n");
}

TEST(Output, WithoutPrefixBytesAreUnchanged) {
  BprunProcess bprun({{"-n", "1", "--prefix", "none", "printf", "a\\000b\\r\\nc"}});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_EQ(bprun.out(), std::string("a\0b\r\nc", 6));
}

// docs/acceptance.md, Launcher: `--output DIR` writes the output of each rank to a file.
TEST(Output, GoesToFilesToo) {
  const Scratch folder;
  BprunProcess bprun({{"-n", "11", "--output", folder.path() + "/new/o", "sh", "-c",
                       "echo out $RANK; echo err $RANK >&2"}});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_EQ(read_file(folder.path() + "/new/o/latest/rank.03/stdout"), "out 3\n");
  EXPECT_EQ(read_file(folder.path() + "/new/o/latest/rank.10/stderr"), "err 10\n");
  EXPECT_THAT(bprun.out(), HasSubstr("[3] out 3\n"));

  BprunProcess failing({{"-n", "1", "--output", folder.path() + "/one", "sh", "-c", "exit 4"}});
  EXPECT_EQ(failing.finish(), 4);
  EXPECT_THAT(failing.err(),
              ContainsRegex("  logs: " + folder.path() + "/one/[-0-9a-f]*/rank.0/stderr\n"));
}

TEST(Output, EndsTheJobWhenItsReaderEnds) {
  BprunProcess bprun({{"-n", "1", "sh", "-c", "exec " + kBinDir + "/bprun yes | head -1"}});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_EQ(bprun.out(), "[0] [0] y\n");
}

// docs/acceptance.md, Launcher: `--dry-run` shows what a job would start, and starts nothing.
// docs/features.md, Launching: A start over ssh from one machine, and a dry run | `bprun -H`,
// `--dry-run`
TEST(DryRun, ShowsEverythingAndStartsNothing) {
  const Scratch folder;
  BprunProcess bprun(
      {{"-H", "localhost:1,127.0.0.1:2:gpus=[3,5]", "--dry-run", "touch", folder.path() + "/x y"}});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_THAT(bprun.out(), HasSubstr("program: touch '" + folder.path() + "/x y'\n"));
  EXPECT_THAT(bprun.out(), HasSubstr("host 1: 127.0.0.1, ranks 1-2, this machine, GPUs 3,5\n"));
  EXPECT_THAT(bprun.out(), HasSubstr("/bprun --agent\n  reached as "));
  EXPECT_THAT(bprun.out(), HasSubstr("rank 2: RANK=2 WORLD_SIZE=3 LOCAL_RANK=1"));
  EXPECT_THAT(bprun.out(), HasSubstr(" CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=3,5\n"));
  EXPECT_THAT(bprun.out(), Not(HasSubstr("differ")));
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/x y"));
}

TEST(DryRun, NamesTheUnreachableHost) {
  BprunProcess bprun({{"-H", "localhost:1,h1:2", "--ssh", "ssh -F 'a b'", "--dry-run", "true"}});
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_THAT(bprun.out(),
              HasSubstr("host 1: h1, ranks 1-2, by ssh\n  ssh -F 'a b' -o BatchMode=yes"));
  EXPECT_THAT(bprun.out(), HasSubstr("\n  NOT REACHED: host h1 could not be reached: "));
  EXPECT_THAT(bprun.out(), HasSubstr("rank 2: RANK=2 WORLD_SIZE=3 LOCAL_RANK=1"));
}

TEST(DryRun, IsAlsoJson) {
  BprunProcess bprun({{"-n", "2", "--dry-run", "--json", "echo", "a b"}});
  EXPECT_EQ(bprun.finish(), 0);
  const auto run = nlohmann::json::parse(bprun.out());
  EXPECT_EQ(run.at("program").at(1), "a b");
  EXPECT_EQ(run.at("hosts").at(0).at("reached"), true);
  EXPECT_EQ(run.at("ranks").at(1).at("variables").at(0), "RANK=1");
  EXPECT_TRUE(run.at("environment_differences").empty());
}

}  // namespace
}  // namespace bp::test
