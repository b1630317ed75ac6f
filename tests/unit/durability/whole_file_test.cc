// Files that are there complete or not at all, and that stay: after a power cut too.
#include "trainer/data/whole_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "bp/error.h"
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

TEST(WholeFileDurability, IsTheOldOneOrTheNewOneAndTheNewOneOnceItIsKept) {
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

// `bert_train eval --out`: of a file that was not there before.
TEST(WholeFileDurability, OfPredictionsHoldsAllOfThem) {
  const Scratch scratch;
  const std::string path = scratch.path("out.csv");
  FileRecording recording(scratch.path());
  PredictionsWriter writer(path, {"bad", "good"});
  const std::vector<float> probabilities{0.25F, 0.75F};
  for (int i = 1; i <= 3; ++i) writer.add({i, i, 1, 1, probabilities});
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

TEST(WholeFileDurability, AFolderAndThoseAboveItStay) {
  const Scratch scratch;
  FileRecording recording(scratch.path());
  make_folders(scratch.path("a/b/c/"));
  FileRecording::mark("made");
  make_folders(scratch.path("a/b/c"));  // is there: nothing to do
  const FileRecord record = recording.stop();
  EXPECT_EQ(record.lines().back(), "mark made");
  test::for_each_power_cut(record, [](const PowerCut& cut) {
    EXPECT_TRUE(cut.marks == 0 || fs::is_directory(cut.folder + "/a/b/c"));
  });
}

// A folder that takes files and does not show them, as for hand-ins: it cannot be opened, and so
// not synced.
TEST(WholeFile, GoesIntoAFolderThatCannotBeRead) {
  const Scratch scratch;
  const std::string folder = scratch.path("in");
  ASSERT_EQ(::mkdir(folder.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0333), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(2);
    try {
      write_whole_file(folder + "/mine.csv", "1,2\n");
    } catch (const std::exception&) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  EXPECT_EQ(read_file(folder + "/mine.csv"), "1,2\n");
}

}  // namespace
}  // namespace bp::trainer
