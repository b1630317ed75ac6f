// The files of --output, and their limit.
#include "launcher/report/rank_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "bp/error.h"
#include "tests/support/scratch.h"

namespace bp::launcher {
namespace {

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Output line(std::string text) {
  return {.rank = 0, .stream = Stream::out, .data = std::move(text)};
}

// docs/features.md, Evaluation and reports: A log of each rank, with rotation | `bprun --output`,
// `--output-limit`
TEST(RankFiles, RotateAtTheEndOfALine) {
  const Scratch folder;
  RankFiles files(folder.path(), 1, 10);
  for (const char* text : {"one\n", "two\n", "thr", "ee\n", "four\n", "five\n", "six\n"}) {
    files.write(line(text));
  }
  EXPECT_EQ(content(folder.path("rank.0/stdout.1")), "four\nfive\n");
  EXPECT_EQ(content(folder.path("rank.0/stdout")), "six\n");
  EXPECT_FALSE(std::filesystem::exists(folder.path("rank.0/stderr.1")));
  EXPECT_EQ(files.loss().bytes, 0U);
}

TEST(RankFiles, KeepALineWholeUpToTwiceTheLimit) {
  const Scratch folder;
  RankFiles files(folder.path(), 1, 10);
  for (const char* text : {"12345678", "90abcd", "efghij", "kl\n"}) files.write(line(text));
  EXPECT_EQ(content(folder.path("rank.0/stdout.1")), "1234567890abcdefghij");
  EXPECT_EQ(content(folder.path("rank.0/stdout")), "kl\n");
}

TEST(RankFiles, CountWhatAnEarlierGenerationWrote) {
  const Scratch folder;
  RankFiles(folder.path(), 1, 10).write(line("before\n"));
  RankFiles files(folder.path(), 1, 10);
  files.write(line("after\n"));
  EXPECT_EQ(content(folder.path("rank.0/stdout.1")), "before\n");
  EXPECT_EQ(content(folder.path("rank.0/stdout")), "after\n");
}

TEST(RankFiles, SayWhyTheirFolderCannotBeMade) {
  const Scratch folder;
  std::filesystem::create_symlink("nowhere", folder.path("rank.0"));
  EXPECT_THAT([&] { RankFiles(folder.path(), 1, 0); },
              testing::ThrowsMessage<Error>(testing::Not(testing::HasSubstr("No such file"))));
}

TEST(RankFiles, GrowWithoutALimit) {
  const Scratch folder;
  RankFiles files(folder.path(), 1);
  for (int i = 0; i < 1000; ++i) files.write(line("a line\n"));
  EXPECT_EQ(std::filesystem::file_size(folder.path("rank.0/stdout")), 7000U);
}

}  // namespace
}  // namespace bp::launcher
