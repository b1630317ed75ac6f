// What the user names as an output need not be a file: links are followed, and pipes and devices
// are written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "bp/error.h"
#include "tests/support/scratch.h"
#include "trainer/common/whole_file.h"

namespace bp::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class WholeFileOutputs : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return scratch_.path(name); }
  [[nodiscard]] std::size_t files() const { return scratch_.names().size(); }

 private:
  const Scratch scratch_;
};

TEST_F(WholeFileOutputs, FollowsLinksAndKeepsThem) {
  write_whole_file(path("f"), "old");
  std::filesystem::create_symlink("f", path("link"));
  std::filesystem::create_symlink("new", path("dangling"));
  write_whole_file(path("link"), "by the link");
  write_whole_file(path("dangling"), "made");
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_TRUE(std::filesystem::is_symlink(path("dangling")));
  EXPECT_EQ(read_file(path("f")), "by the link");
  EXPECT_EQ(read_file(path("new")), "made");
  EXPECT_EQ(files(), 4U);
}

TEST_F(WholeFileOutputs, WritesToAPipeAndKeepsIt) {
  const std::string pipe = path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = read_file(pipe); });
  write_whole_file(pipe, "rows");
  reader.join();
  EXPECT_EQ(read, "rows");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_EQ(files(), 1U);
}

TEST_F(WholeFileOutputs, WritesToADeviceAndKeepsIt) {
  constexpr unsigned kMemory = 1;  // the devices' major number
  constexpr unsigned kNull = 3;
  constexpr unsigned kFull = 7;
  if (::mknod(path("null").c_str(), S_IFCHR | 0600, ::makedev(kMemory, kNull)) != 0 ||
      ::mknod(path("full").c_str(), S_IFCHR | 0600, ::makedev(kMemory, kFull)) != 0) {
    GTEST_SKIP() << "only root can use a device";
  }
  if (!std::ofstream(path("null")))
    GTEST_SKIP() << "only root can use a device, and this file system has none";
  write_whole_file(path("null"), "nothing");
  EXPECT_THAT([&] { write_whole_file(path("full"), "too much"); },
              ThrowsMessage<Error>("cannot write " + path("full") + ": No space left on device"));
  for (const char* const name : {"null", "full"}) {
    EXPECT_TRUE(std::filesystem::is_character_file(path(name)));
  }
  EXPECT_EQ(files(), 2U);
}

TEST_F(WholeFileOutputs, AFolderWithTheNameOfAFileIsNamed) {
  std::filesystem::create_directories(path("f"));
  try {
    write_whole_file(path("f"), "new");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_THAT(error.what(), HasSubstr("cannot write " + path("f") + ": Is a directory"));
  }
  EXPECT_EQ(files(), 1U) << "no file but the folder may be left";
}

TEST_F(WholeFileOutputs, ReplacesTheFileOrLeavesIt) {
  write_whole_file(path("f"), "old");
  write_whole_file(path("f"), "new");
  EXPECT_EQ(read_file(path("f")), "new");
  std::filesystem::create_directory(path("f.part"));  // makes the next write fail
  EXPECT_THROW(write_whole_file(path("f"), "newest"), Error);
  EXPECT_EQ(read_file(path("f")), "new");
  EXPECT_EQ(files(), 2U);
}

TEST_F(WholeFileOutputs, FilesAndFoldersThatCannotBeSyncedAreNamed) {
  write_whole_file(path("f"), "text");
  sync_file(path("f"));
  sync_folder(path(""));
  sync_folder("");
  EXPECT_THAT(
      [&] { sync_file(path("g")); },
      ThrowsMessage<Error>("cannot put " + path("g") + " on disk: No such file or directory"));
  EXPECT_THAT([&] { sync_folder(path("f")); },
              ThrowsMessage<Error>("cannot put " + path("f") + " on disk: Not a directory"));
}

}  // namespace
}  // namespace bp::trainer
