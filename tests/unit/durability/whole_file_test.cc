// Files that are complete or absent, and that stay, after a power cut too.
#include "trainer/common/whole_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "bp/error.h"
#include "tests/support/as_nobody.h"
#include "tests/support/files/file_record.h"
#include "tests/support/files/power_cut.h"
#include "trainer/report/predictions.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;
using test::FileRecord;
using test::FileRecording;
using test::PowerCut;
using ::testing::ElementsAre;

// docs/acceptance.md, Disks and power: A power cut at any moment leaves a whole file, the old or
// the new one.
TEST(WholeFileDurability, PowerCutLeavesTheOldFileOrTheNewAndAfterKeepTheNew) {
  const Scratch scratch;
  scratch.write("summary.json", "the old content");
  FileRecording recording(scratch.path());
  write_whole_file(scratch.path("summary.json"), "the new content");
  FileRecording::mark("kept");
  const FileRecord record = recording.stop();
  EXPECT_THAT(
      record.lines(),
      ElementsAre("create summary.json.part", "write summary.json.part", "sync summary.json.part",
                  "rename summary.json.part -> summary.json", "sync .", "mark kept"));
  const std::size_t states = test::for_each_power_cut(record, [](const PowerCut& cut) {
    const std::string content = read_file(cut.folder + "/summary.json");
    EXPECT_TRUE(content == "the new content" || (cut.marks == 0 && content == "the old content"))
        << content;
  });
  EXPECT_GE(states, 7U);
}

// `bert_train eval --out` writes a file that did not exist before.
TEST(WholeFileDurability, OfPredictionsHoldsAllOfThem) {
  const Scratch scratch;
  const std::string path = scratch.path("out.csv");
  FileRecording recording(scratch.path());
  PredictionsWriter writer(path, {{"prediction"}});
  const std::vector<std::string> fields{"good"};
  for (int i = 1; i <= 3; ++i) writer.add({i, i, fields});
  writer.finish();
  FileRecording::mark("finished");
  const std::string whole = read_file(path);
  const std::size_t states = test::for_each_power_cut(recording.stop(), [&](const PowerCut& cut) {
    const std::string out = cut.folder + "/out.csv";
    EXPECT_TRUE(fs::exists(out) || cut.marks == 0);
    if (fs::exists(out)) {
      EXPECT_EQ(read_file(out), whole);
    }
  });
  EXPECT_GE(states, 5U);
}

TEST(WholeFileDurability, FoldersAndTheirParentsStay) {
  const Scratch scratch;
  FileRecording recording(scratch.path());
  make_folders(scratch.path("a/b/c/"));
  FileRecording::mark("made");
  make_folders(scratch.path("a/b/c"));  // exists: nothing to do
  const FileRecord record = recording.stop();
  EXPECT_EQ(record.lines().back(), "mark made");
  test::for_each_power_cut(record, [](const PowerCut& cut) {
    EXPECT_TRUE(cut.marks == 0 || fs::is_directory(cut.folder + "/a/b/c"));
  });
}

// A folder that accepts files but cannot be listed, such as one for hand-ins. It cannot be opened,
// and therefore not synced.
// docs/acceptance.md, Disks and power: A whole file can be written to a folder that cannot be read.
TEST(WholeFile, CanBeWrittenToAFolderThatCannotBeRead) {
  const Scratch scratch;
  const std::string folder = scratch.path("in");
  ASSERT_EQ(::mkdir(folder.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0333), 0);
  as_nobody([&] { EXPECT_NO_THROW(write_whole_file(folder + "/mine.csv", "1,2\n")); });
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  EXPECT_EQ(read_file(folder + "/mine.csv"), "1,2\n");
}

}  // namespace
}  // namespace bp::trainer
