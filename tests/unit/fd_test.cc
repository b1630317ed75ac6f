#include "comm/base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace bp {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

Fd open_null() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

TEST(Fd, ClosesWhatItOwns) {
  int raw = -1;
  {
    const Fd fd = open_null();
    raw = fd.get();
    EXPECT_TRUE(is_open(raw));
  }
  EXPECT_FALSE(is_open(raw));
}

TEST(Fd, MoveAssignmentClosesTheOldOneAndEmptiesTheSource) {
  Fd first = open_null();
  Fd second = open_null();
  const int old_raw = first.get();
  const int new_raw = second.get();
  first = std::move(second);
  EXPECT_FALSE(is_open(old_raw));
  EXPECT_EQ(first.get(), new_raw);
  EXPECT_TRUE(is_open(new_raw));
  EXPECT_FALSE(second);  // NOLINT(bugprone-use-after-move): the promise under test
}

TEST(Fd, ReleaseGivesTheDescriptorAway) {
  Fd fd = open_null();
  const Fd taken(fd.release());
  EXPECT_FALSE(fd);
  EXPECT_TRUE(is_open(taken.get()));
}

}  // namespace
}  // namespace bp
