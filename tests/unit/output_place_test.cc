// Outputs that users name: files, links to files, and what must not be replaced.
#include "base/system/output_place.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/text.h"
#include "tests/support/scratch.h"

namespace bp {
namespace {

namespace fs = std::filesystem;

TEST(OutputPlace, OfAFileIsTheFile) {
  const Scratch scratch;
  EXPECT_EQ(output_place(scratch.path("new")).file, scratch.path("new"));
  EXPECT_EQ(output_place(scratch.write("old", "x")).file, scratch.path("old"));
  EXPECT_EQ(output_place("in_this_folder").file, "in_this_folder");
}

TEST(OutputPlace, OfLinksIsTheirEnd) {
  const Scratch scratch;
  scratch.write("file", "x");
  fs::create_directory(scratch.path("in"));
  fs::create_symlink("../file", scratch.path("in/one"));
  fs::create_symlink(scratch.path("in/one"), scratch.path("two"));
  fs::create_symlink("absent", scratch.path("dangling"));
  EXPECT_TRUE(fs::equivalent(output_place(scratch.path("two")).file, scratch.path("file")));
  EXPECT_FALSE(fs::is_symlink(output_place(scratch.path("two")).file));
  EXPECT_EQ(output_place(scratch.path("dangling")).file, scratch.path("absent"));
}

TEST(OutputPlace, OfPipesDevicesAndDescriptorsIsNoFile) {
  const Scratch scratch;
  const std::string pipe = scratch.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink("pipe", scratch.path("link"));
  EXPECT_EQ(output_place(pipe).file, "");
  EXPECT_EQ(output_place(scratch.path("link")).file, "");
  EXPECT_EQ(output_place(scratch.path("link")).descriptor, -1);
  EXPECT_EQ(output_place("/dev/null").file, "");
  // Also an open file: a rename would leave the other writers of the descriptor with the old one.
  const std::string path = scratch.write("file", "old\n");
  const Fd file(::open(path.c_str(), O_WRONLY | O_APPEND));
  for (const char* const folder : {"/dev/fd/", "/proc/self/fd/"}) {
    const OutputPlace place = output_place(concat(folder, file.get()));
    EXPECT_EQ(place.file, "");
    EXPECT_EQ(place.descriptor, file.get());
    const Fd direct = open_directly(concat(folder, file.get()), place);
    EXPECT_EQ(write_all(direct.get(), "new\n", 4), 4U);
  }
  EXPECT_EQ(read_file(path), "old\nnew\nnew\n");
  EXPECT_EQ(output_place("/dev/stdout").descriptor, STDOUT_FILENO);
}

TEST(OutputPlace, ProblemsAreNamed) {
  const Scratch scratch;
  const std::string pipe = scratch.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink("no/absent", scratch.path("astray"));
  fs::create_symlink("circle", scratch.path("circle"));
  fs::create_symlink(scratch.path(), scratch.path("folder"));
  const std::string name = scratch.path("socket");
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_LT(name.size(), sizeof address.sun_path);
  name.copy(address.sun_path, name.size());
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(output_problem(scratch.path("new")), "");
  EXPECT_EQ(output_problem(pipe), "");
  EXPECT_EQ(output_problem("/dev/stdout"), "");
  EXPECT_EQ(output_problem(name), "it is a socket");
  EXPECT_EQ(output_problem(scratch.path()), "it is a folder");
  EXPECT_EQ(output_problem(scratch.path("folder")), "it is a folder");
  EXPECT_EQ(output_problem(scratch.path("astray")), "its folder does not exist");
  EXPECT_EQ(output_problem(scratch.path("circle")), "Too many levels of symbolic links");
}

}  // namespace
}  // namespace bp
