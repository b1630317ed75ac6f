// The recorder must see what a process does to its files, and the simulated disk must lose what a
// power cut can lose. Otherwise the other tests of this folder would show nothing.
// docs/acceptance.md, Disks and power: The recorder of these tests sees all that a process does to
// its files.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest-spi.h>

#include "base/system/fd.h"
#include "tests/support/files/file_record.h"
#include "tests/support/files/power_cut.h"
#include "tests/support/files/simulated_disk.h"

namespace bp::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

FileRecord record_of(const Scratch& scratch, const std::function<void()>& body) {
  FileRecording recording(scratch.path());
  body();
  return recording.stop();
}

void write_fd(const std::string& path, const std::string& text, int flags = 0) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | flags, 0600));
  ASSERT_TRUE(file);
  ASSERT_EQ(write_all(file.get(), text.data(), text.size()), text.size());
}

void sync_path(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY));
  ASSERT_EQ(::fsync(file.get()), 0);
}

// Returns the contents of `name` in the states after a power cut, "-" if it is absent.
std::multiset<std::string> contents(const FileRecord& record, const std::string& name) {
  std::multiset<std::string> contents;
  SimulatedDisk disk(record.before);
  for (const FileOperation& operation : record.operations) disk.apply(operation);
  for (const FileTree& tree : disk.after_power_cut()) {
    contents.insert(tree.contains(name) ? tree.at(name).content.text() : "-");
  }
  return contents;
}

TEST(FileRecorder, RecordsChangesAndSyncs) {
  const Scratch scratch;
  const Scratch elsewhere;
  scratch.write("old", "0123456789");
  const FileRecord record = record_of(scratch, [&] {
    fs::create_directories(scratch.path("a/b"));
    write_fd(scratch.path("a/b/one"), "one");
    write_fd(scratch.path("a/b/one"), "+", O_APPEND);
    write_fd(elsewhere.path("other"), "not of the folder");
    fs::rename(scratch.path("a/b/one"), scratch.path("a/two"));
    fs::create_directory_symlink("a", scratch.path("link"));
    sync_path(scratch.path("link/two"));
    fs::create_hard_link(scratch.path("a/two"), scratch.path("link/three"));
    {
      const Fd old(::open(scratch.path("old").c_str(), O_RDWR));
      ASSERT_EQ(::pwrite(old.get(), "ab", 2, 4), 2);
      ASSERT_EQ(::ftruncate(old.get(), 5), 0);
      ASSERT_EQ(::fdatasync(old.get()), 0);
    }
    ASSERT_EQ(::renameat2(AT_FDCWD, scratch.path("a/two").c_str(), AT_FDCWD,
                          scratch.path("old").c_str(), RENAME_EXCHANGE),
              0);
    write_fd(scratch.path("old"), "new", O_TRUNC);
    sync_path(scratch.path("a"));
    FileRecording::mark("half");
    fs::remove(scratch.path("link"));
    fs::remove_all(scratch.path("a/b"));
    sync_path(scratch.path());
  });
  EXPECT_THAT(record.lines(),
              ElementsAre("mkdir a", "mkdir a/b", "create a/b/one", "write a/b/one",
                          "rename a/b/one -> a/two", "symlink link to a", "sync a/two",
                          "link a/two -> a/three", "write old", "truncate old to 5", "sync old",
                          "exchange a/two and old", "write old", "sync a", "mark half",
                          "unlink link", "rmdir a/b", "sync ."));
}

TEST(FileRecorder, MissedOperationFailsTheTest) {
  const Scratch scratch;
  EXPECT_NONFATAL_FAILURE((void)record_of(scratch,
                                          [&] {
                                            write_fd(scratch.path("seen"), "1");
                                            std::ofstream(scratch.path("not seen")) << "1";
                                          }),
                          "not seen exists, but no operation created it");
  EXPECT_NONFATAL_FAILURE((void)record_of(scratch, [] {}), "nothing was recorded");
}

TEST(SimulatedDisk, LosesWhatIsNotSynced) {
  const Scratch scratch;
  const FileRecord written = record_of(scratch, [&] { write_fd(scratch.path("a"), "wxyz"); });
  EXPECT_THAT(contents(written, "a"),
              UnorderedElementsAre("-", "", "wx", "wxyz", std::string(4, '\0')));
}

TEST(SimulatedDisk, FileSyncKeepsContentAndFolderSyncKeepsNames) {
  const Scratch scratch;
  FileRecord record = record_of(scratch, [&] {
    write_fd(scratch.path("a"), "wxyz");
    sync_path(scratch.path("a"));
  });
  EXPECT_THAT(contents(record, "a"), UnorderedElementsAre("-", "wxyz"));
  const Scratch both;
  record = record_of(both, [&] {
    write_fd(both.path("a"), "wxyz");
    sync_path(both.path("a"));
    sync_path(both.path());
  });
  EXPECT_THAT(contents(record, "a"), UnorderedElementsAre("wxyz"));
}

TEST(SimulatedDisk, WritesReachTheDiskInAnyOrder) {
  const Scratch scratch;
  scratch.write("a", "----");
  const FileRecord record = record_of(scratch, [&] {
    const Fd file(::open(scratch.path("a").c_str(), O_WRONLY));
    ASSERT_EQ(::pwrite(file.get(), "12", 2, 0), 2);
    ASSERT_EQ(::pwrite(file.get(), "34", 2, 2), 2);
  });
  EXPECT_THAT(contents(record, "a"),
              UnorderedElementsAre("----", "1234", "123-", "--34", std::string(4, '\0')));
}

TEST(SimulatedDisk, RenameIsAtomicAndCanPrecedeTheContent) {
  const Scratch scratch;
  scratch.write("a", "old");
  const FileRecord record = record_of(scratch, [&] {
    write_fd(scratch.path("b"), "new");
    fs::rename(scratch.path("b"), scratch.path("a"));
  });
  const std::multiset<std::string> found = contents(record, "a");
  EXPECT_TRUE(found.contains("")) << "a file system that delays allocation can leave this";
  EXPECT_TRUE(found.contains("new"));
  EXPECT_TRUE(found.contains("old"));
  EXPECT_FALSE(found.contains("-"));
}

TEST(SimulatedDisk, NamesReachTheDiskInAnyOrder) {
  const Scratch scratch;
  std::set<std::set<std::string>> seen;
  const FileRecord record = record_of(scratch, [&] {
    for (const char* name : {"a", "b", "c"}) fs::create_directory(scratch.path(name));
  });
  for_each_power_cut(record, [&](const PowerCut& cut) {
    std::set<std::string> names;
    for (const auto& [path, entry] : tree_of(cut.folder)) names.insert(path);
    seen.insert(names);
  });
  EXPECT_EQ(seen.size(), 8U) << "each subset of the three names must occur";
}

TEST(PowerCuts, CountTheMarksAndEndWithThem) {
  const Scratch scratch;
  const FileRecord record = record_of(scratch, [&] {
    write_fd(scratch.path("a"), "1");
    sync_path(scratch.path("a"));
    sync_path(scratch.path());
    FileRecording::mark("a is there");
  });
  std::vector<std::size_t> marks;
  const std::size_t states = for_each_power_cut(record, [&](const PowerCut& cut) {
    marks.push_back(cut.marks);
    if (cut.marks > 0) {
      EXPECT_EQ(read_file(cut.folder + "/a"), "1");
    }
  });
  EXPECT_EQ(states, marks.size());
  EXPECT_EQ(std::count(marks.begin(), marks.end(), 1U), 1);
  EXPECT_EQ(marks.back(), 1U);
}

}  // namespace
}  // namespace bp::test
