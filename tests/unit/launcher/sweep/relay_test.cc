// What the processes of the relay send each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "base/system/fd.h"
#include "launcher/protocol/frame.h"
#include "launcher/sweep/relay/passed_streams.h"
#include "launcher/sweep/relay/relay_frame.h"
#include "launcher/sweep/relay/relay_server.h"
#include "tests/support/refusal.h"

namespace bp::launcher::sweep {
namespace {

using testing::HasSubstr;

TEST(RelayFrame, ComesBackAsItWasSent) {
  FrameReader reader;
  reader.feed(encode({RelayType::output, 7, std::string_view("a\0b", 3)}));
  const auto frame = reader.next();
  ASSERT_TRUE(frame);
  const RelayFrame decoded = decode_relay_frame(*frame);
  EXPECT_EQ(decoded.type, RelayType::output);
  EXPECT_EQ(decoded.command, 7U);
  EXPECT_EQ(decoded.bytes, std::string_view("a\0b", 3));
}

TEST(RelayFrame, AnUnknownTypeIsRefused) {
  EXPECT_EQ(test::error_of([] {
              return decode_relay_frame({99, ""});
            }),
            "io: a relay sent a frame of type 99");
  EXPECT_THAT(test::error_of([] { return decode_relay_frame({2, "\1"}); }), HasSubstr("io: "));
}

// A process whose streams are passed needs them no more: the receiver reads its stdin and writes
// its stdout.
TEST(PassedStreams, TheReceiverHasTheStreamsOfTheSender) {
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
  int in[2];
  int out[2];
  ASSERT_EQ(::pipe(in), 0);
  ASSERT_EQ(::pipe(out), 0);
  const pid_t sender = ::fork();
  if (sender == 0) {
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    ::_exit(pass_streams(fds[1], "far", "run 'it'") ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(sender, &status, 0), sender);
  ASSERT_EQ(status, 0);
  const auto streams = receive_streams(fds[0]);
  ASSERT_TRUE(streams);
  EXPECT_EQ(streams->host, "far");
  EXPECT_EQ(streams->command, "run 'it'");
  char byte = 0;
  ASSERT_EQ(::write(in[1], "i", 1), 1);
  ASSERT_EQ(::read(streams->input.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'i');
  ASSERT_EQ(::write(streams->output.get(), "o", 1), 1);
  ASSERT_EQ(::read(out[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'o');
  EXPECT_FALSE(receive_streams(fds[0])) << "no second message has arrived";
  for (const int fd : {fds[0], fds[1], in[0], in[1], out[0], out[1]}) ::close(fd);
}

// The process that calls --through gets 255, as from ssh, and a reason on its stderr.
TEST(RelayServer, AHostThatIsLostEndsACommandAsSshDoes) {
  EventLoop loop;
  std::string asked;
  RelayServer server(loop, [&](const std::string& host) {
    asked = host;
    return static_cast<HostConnection*>(nullptr);
  });
  int errors[2];
  ASSERT_EQ(::pipe(errors), 0);
  const pid_t client = ::fork();
  if (client == 0) {
    ::dup2(errors[1], STDERR_FILENO);
    ::_exit(through_main(server.path(), "far", "true"));
  }
  ::close(errors[1]);
  int status = 0;
  for (int i = 0; i < 1000 && ::waitpid(client, &status, WNOHANG) == 0; ++i) {
    loop.run_once(std::chrono::milliseconds{10});
  }
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 255);
  EXPECT_EQ(asked, "far");
  char text[100] = {};
  static_cast<void>(::read(errors[0], text, sizeof text - 1));
  EXPECT_STREQ(text, "bprun sweep: host far is lost\n");
  ::close(errors[0]);
}

TEST(RelayServer, LeavesNoFolder) {
  EventLoop loop;
  std::string folder;
  {
    const RelayServer server(
        loop, [](const std::string&) { return static_cast<HostConnection*>(nullptr); });
    folder = server.folder();
    EXPECT_EQ(::access(folder.c_str(), F_OK), 0);
  }
  EXPECT_NE(::access(folder.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace bp::launcher::sweep
