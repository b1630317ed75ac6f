// How a channel treats a shell that prints before bprun can start.
#include "launcher/agent/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string>

namespace bp::launcher {
namespace {

using namespace std::chrono_literals;

class ChannelTest : public testing::Test {
 protected:
  ChannelTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    shell_ = Fd(ends[0]);
    Channel::Ends ends_of_bprun;
    ends_of_bprun.in = Fd(ends[1]);
    ends_of_bprun.out = Fd(::dup(ends_of_bprun.in.get()));
    ends_of_bprun.await_magic = true;
    channel_.emplace(loop_, std::move(ends_of_bprun),
                     Channel::Listener{[this](const Frame&) { ++frames_; },
                                       [this](const std::string& why) { closed_ = why; }});
  }

  void print(const std::string& text) {
    ASSERT_EQ(::write(shell_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    loop_.run_once(1s);
  }

  EventLoop loop_;
  Fd shell_;
  std::optional<Channel> channel_;
  std::optional<std::string> closed_;
  int frames_ = 0;
};

TEST_F(ChannelTest, AShellMayPrint64KiBBeforeTheMagic) {
  const std::string half(std::size_t{32} << 10, 'x');
  print(half);
  print(half);
  EXPECT_EQ(closed_, std::nullopt);
  print(std::string(kAgentMagic));
  EXPECT_EQ(closed_, std::nullopt);
  EXPECT_EQ(channel_->before_magic(), half + half);
  EXPECT_EQ(frames_, 0);
}

TEST_F(ChannelTest, AShellThatPrintsMoreIsReported) {
  const std::string half(std::size_t{32} << 10, 'x');
  print(half);
  print(half);
  print("x");
  EXPECT_EQ(closed_, "its shell prints without end before bprun can start");
}

}  // namespace
}  // namespace bp::launcher
