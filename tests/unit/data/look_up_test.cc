// Look-ups that the system does not answer are errors that a user understands.
#include "trainer/common/look_up.h"

#include <dirent.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "base/text.h"
#include "input_refusal.h"
#include "tests/support/as_nobody.h"
#include "tests/support/scratch.h"

namespace {
int readdir_fails_after = -1;  // the number of calls that succeed before one fails; -1: all do
}  // namespace

// Takes the place of the C library's function, which cannot be made to fail otherwise.
extern "C" __attribute__((visibility("default"))) dirent* readdir(DIR* folder) {
  if (readdir_fails_after == 0) {
    errno = EIO;
    return nullptr;
  }
  if (readdir_fails_after > 0) --readdir_fails_after;
  static const auto real = reinterpret_cast<dirent* (*)(DIR*)>(::dlsym(RTLD_NEXT, "readdir"));
  return real(folder);
}

namespace bp::trainer {
namespace {

using test::input_refusal;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(LookUp, WhatDoesNotExistIsNoError) {
  const Scratch scratch;
  const std::string file = scratch.write("file", "four");
  for (const std::string& path : {scratch.path("none"), file + "/below"}) {
    EXPECT_FALSE(path_exists(path));
    EXPECT_FALSE(folder_exists(path));
    EXPECT_THAT(entries_of(path), IsEmpty());
    EXPECT_THAT(files_that_begin(path + "/a"), IsEmpty());
  }
  EXPECT_TRUE(path_exists(file));
  EXPECT_FALSE(folder_exists(file));
  EXPECT_THAT(entries_of(file), IsEmpty());
  EXPECT_EQ(size_of_file(file), 4U);
  EXPECT_TRUE(folder_exists(scratch.path()));
  EXPECT_EQ(input_refusal([&] { (void)size_of_file(scratch.path("none")); }),
            concat("66: cannot read ", scratch.path("none"),
                   ": No such file or directory | see whether its disk or server answers, for "
                   "example with ls"));
}

TEST(LookUp, ListsAFolder) {
  const Scratch scratch;
  for (const char* const name : {"a", ".b", "a.part-1", "a.part-2", "b.part-1"}) {
    scratch.write(name, "");
  }
  EXPECT_THAT(entries_of(scratch.path()),
              UnorderedElementsAre("a", ".b", "a.part-1", "a.part-2", "b.part-1"));
  EXPECT_THAT(files_that_begin(scratch.path("a.part-")),
              UnorderedElementsAre(scratch.path("a.part-1"), scratch.path("a.part-2")));
}

TEST(LookUp, ANameThatIsTooLongIsRefused) {
  const std::string name(256, 'n');
  const std::string refusal =
      concat("66: cannot read ", name, ": File name too long | choose a shorter name");
  EXPECT_EQ(input_refusal([&] { (void)path_exists(name); }), refusal);
  EXPECT_EQ(input_refusal([&] { (void)folder_exists(name); }), refusal);
  EXPECT_EQ(input_refusal([&] { (void)entries_of(name); }), refusal);
  EXPECT_THAT(files_that_begin(name + "/a"), IsEmpty());
}

TEST(LookUp, ALinkThatLeadsBackToItselfIsRefused) {
  const Scratch scratch;
  const std::string link = scratch.path("link");
  std::filesystem::create_symlink(link, link);
  EXPECT_EQ(input_refusal([&] { (void)path_exists(link); }),
            concat("66: cannot read ", link,
                   ": Too many levels of symbolic links | a symbolic link in this path leads back "
                   "to itself; remove it"));
}

TEST(LookUp, AFolderThatFailsWhileItIsReadIsRefused) {
  const Scratch scratch;
  scratch.write("a.part-1", "");
  scratch.write("a.part-2", "");
  for (const int calls : {0, 1, 3}) {
    readdir_fails_after = calls;
    const std::string refusal = input_refusal([&] { (void)entries_of(scratch.path()); });
    readdir_fails_after = -1;
    EXPECT_EQ(refusal, concat("66: cannot read ", scratch.path(),
                              ": Input/output error | see whether its disk or server answers, for "
                              "example with ls"));
    readdir_fails_after = calls;
    const std::size_t found = files_that_begin(scratch.path("a.part-")).size();
    readdir_fails_after = -1;
    EXPECT_LE(found, 2U);
  }
}

TEST(LookUp, AFolderOfAnotherUserIsRefused) {
  const Scratch scratch;
  const std::string folder = scratch.path("theirs");
  ASSERT_EQ(::mkdir(folder.c_str(), 0), 0);
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0755), 0);
  as_nobody([&] {
    const std::string hint = concat(
        " | you need permission to read it and to enter the folders above it: namei -l ", folder);
    EXPECT_EQ(input_refusal([&] { (void)entries_of(folder); }),
              concat("66: cannot read ", folder, ": Permission denied", hint, " shows who may"));
    EXPECT_EQ(
        input_refusal([&] { (void)path_exists(folder + "/x"); }),
        concat("66: cannot read ", folder, "/x: Permission denied", hint, "/x shows who may"));
  });
}

}  // namespace
}  // namespace bp::trainer
