#include "base/system/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>

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

struct Pipe {
  explicit Pipe(int flags) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | flags), 0);
    read = Fd(ends[0]);
    write = Fd(ends[1]);
  }
  Fd read;
  Fd write;
};

// A signal can end write(2) after a part of the bytes, or before the first.
TEST(WriteAll, ContinuesAfterPartialWrites) {
  struct sigaction ignoring {};
  struct sigaction before {};
  ignoring.sa_handler = [](int) {};  // without SA_RESTART
  ASSERT_EQ(::sigaction(SIGUSR1, &ignoring, &before), 0);
  std::string sent(1'000'000, '\0');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i % 251);
  std::string received;
  Pipe pipe(0);
  std::thread reader([&, writer = ::pthread_self()] {
    char piece[3000];
    while (received.size() < sent.size()) {
      const ssize_t n = ::read(pipe.read.get(), piece, sizeof(piece));
      if (n <= 0) break;
      received.append(piece, static_cast<std::size_t>(n));
      ::pthread_kill(writer, SIGUSR1);
    }
  });
  EXPECT_EQ(write_all(pipe.write.get(), sent.data(), sent.size()), sent.size());
  pipe.write.reset();
  reader.join();
  EXPECT_EQ(received == sent, true);
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST(WriteAll, ReportsTheBytesWrittenAndTheError) {
  const Pipe pipe(O_NONBLOCK);
  const auto room = static_cast<std::size_t>(::fcntl(pipe.write.get(), F_GETPIPE_SZ));
  const std::string text(2 * room, 'x');
  errno = 0;
  EXPECT_EQ(write_all(pipe.write.get(), text.data(), text.size()), room);
  EXPECT_EQ(errno, EAGAIN);

  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(write_all(full.get(), "x", 1), 0U);
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_EQ(write_all(-1, "x", 1), 0U);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(write_all(-1, nullptr, 0), 0U);
}

}  // namespace
}  // namespace bp
