// Agents behind ssh: two sshd of the test's own on this machine, which bprun knows as h1 and h2.
// Names from ssh's configuration are no names of this machine, so they count as other hosts.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "comm/base/text.h"
#include "launcher/agent/hello.h"
#include "launcher/process/environment_list.h"
#include "launcher/process/shell_words.h"
#include "launcher/process/spawn.h"
#include "tests/e2e/launcher/bprun_process.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr const char* kSshd = "/usr/sbin/sshd";

void write_file(const std::string& path, const std::string& text, mode_t mode = 0600) {
  std::ofstream(path) << text;
  ::chmod(path.c_str(), mode);
}

bool accepts(int port) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

// One sshd on a port of its own; dies with the test.
class Sshd {
 public:
  Sshd(const std::string& folder, const std::string& name) {
    launcher::HeldPort held;
    port_ = held.number();
    held.release();
    const std::string config = folder + "/" + name + ".sshd";
    write_file(config, concat("ListenAddress 127.0.0.1:", port_, "\nHostKey ", folder,
                              "/host_key\nPidFile none\n", "AuthorizedKeysFile ", folder,
                              "/key.pub\nStrictModes no\nUsePAM no\n",
                              "PasswordAuthentication no\nLogLevel ERROR\n"));
    const auto started = launcher::spawn({.file = kSshd,
                                          .argv = {kSshd, "-D", "-e", "-f", config},
                                          .environment = launcher::own_environment(),
                                          .die_with_parent = true});
    if (started.error == 0) {
      child_ = std::make_unique<launcher::Child>(started.pid);
    }
    const Deadline deadline(10s);
    while (child_ && !(listening_ = accepts(port_)) && !deadline.passed()) {
      ::usleep(5000);
    }
  }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] bool listening() const { return listening_; }

 private:
  int port_ = 0;
  bool listening_ = false;
  std::unique_ptr<launcher::Child> child_;
};

class SshTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::access(kSshd, X_OK) != 0 || std::system("command -v ssh ssh-keygen >/dev/null") != 0) {
      GTEST_SKIP() << "sshd, ssh or ssh-keygen is not installed";
    }
    if (::geteuid() == 0) {
      std::filesystem::create_directories("/run/sshd");  // sshd wants it when root starts it
    }
    for (const char* key : {"key", "host_key"}) {
      const std::string command = concat("ssh-keygen -q -t ed25519 -N '' -f ", folder(), "/", key);
      ASSERT_EQ(std::system(command.c_str()), 0);
    }
    for (const char* name : {"h1", "h2"}) {
      auto& server = name == std::string("h1") ? h1_ : h2_;
      server = std::make_unique<Sshd>(folder(), name);
      if (!server->listening()) {
        GTEST_SKIP() << "sshd does not start here";
      }
    }
    write_client_config();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write_client_config() const {
    std::string config;
    for (const auto& [name, port] : {std::pair{"h1", h1_->port()}, std::pair{"h2", h2_->port()}}) {
      config += concat("Host ", name, "\n  HostName 127.0.0.1\n  Port ", port, "\n");
    }
    config +=
        concat("Host *\n  IdentityFile ", folder(), "/key\n  IdentitiesOnly yes\n",
               "  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n");
    write_file(folder() + "/config", config);
  }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] BprunProcess run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(),
                     {"--ssh", "ssh -F " + launcher::quote_shell_word(folder() + "/config")});
    return BprunProcess({std::move(arguments)});
  }

  std::string folder_ = [] {
    std::string name = testing::TempDir() + "bprun_ssh_XXXXXX";
    return std::string(::mkdtemp(name.data()));
  }();
  std::unique_ptr<Sshd> h1_;
  std::unique_ptr<Sshd> h2_;
};

TEST_F(SshTest, RanksOfTwoHostsMeetInTheStore) {
  BprunProcess bprun = run({"-H", "h1:2,h2:1", rank_program(), "join", "done"});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_EQ(bprun.out() + bprun.err(), "");
}

TEST_F(SshTest, ArgumentsNeverMeetAShell) {
  BprunProcess bprun =
      run({"-H", "h1:1,h2:1", "--prefix", "none", "printf", "%s|", "a  b", "$HOME", "'", "\"\n"});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_EQ(bprun.out(), "a  b|$HOME|'|\"\n|a  b|$HOME|'|\"\n|");
}

TEST_F(SshTest, ARankThatFailsIsNamedWithItsHost) {
  BprunProcess bprun = run({"-H", "h1:2,h2:1", rank_program(), "exit", "2", "7"});
  EXPECT_EQ(bprun.finish(), 7) << bprun.err();
  EXPECT_THAT(
      bprun.err(),
      ContainsRegex("bprun: FAILED  rank 2 on h2 \\(local rank 0, pid [0-9]+\\) exited with "
                    "code 7 after "));
  EXPECT_THAT(bprun.err(), HasSubstr("; ranks 0,1 were stopped by bprun"));
  EXPECT_EQ(bprun.marked(), 0);
}

TEST_F(SshTest, SigkillOfBprunLeavesNobody) {
  BprunProcess bprun = run({"-H", "h1:1,h2:1", rank_program(), "family"});
  ASSERT_TRUE(bprun.wait_for("[0] ready\n"));
  ASSERT_TRUE(bprun.wait_for("[1] ready\n"));
  EXPECT_GE(bprun.marked(), 8);
  bprun.signal(SIGKILL);
  EXPECT_EQ(bprun.marked_at_last(), 0);
}

TEST_F(SshTest, AHostThatRefusesIsNamed) {
  h2_.reset();
  BprunProcess bprun = run({"-H", "h1:2,h2:1", rank_program(), "pause"});
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_THAT(
      bprun.first_error_line(),
      ContainsRegex(
          "^bprun: FAILED  host h2 could not be reached: ssh: connect to host 127\\.0\\.0\\.1 port "
          "[0-9]+: Connection refused$"));
  EXPECT_THAT(bprun.err(), HasSubstr("\n  hint: no sshd listens there"));
  EXPECT_EQ(bprun.marked_at_last(), 0);
}

TEST_F(SshTest, AWrongKeyIsExplained) {
  write_file(folder() + "/key.pub", "");
  BprunProcess bprun = run({"-H", "h1:1", "true"});
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_THAT(bprun.first_error_line(), HasSubstr("host h1 could not be reached"));
  EXPECT_THAT(bprun.first_error_line(), HasSubstr("Permission denied (publickey"));
  EXPECT_THAT(bprun.err(), HasSubstr("hint: bprun needs a login without password"));
}

TEST_F(SshTest, AMissingBprunIsExplained) {
  BprunProcess bprun = run({"-H", "h1:1", "--remote-bprun", "/no such/bprun", "true"});
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_THAT(bprun.first_error_line(), HasSubstr("there is no /no such/bprun on h1: "));
}

// A stand-in for ssh: runs the command here. BEFORE is run first.
std::string fake_ssh(const std::string& before) {
  const std::string script = concat(before, "; for word; do :; done; exec sh -c \"$word\"");
  return concat("sh -c ", launcher::quote_shell_word(script), " ssh");
}

TEST(FakeSsh, WhatTheRemoteShellPrintsFirstDoesNoHarm) {
  BprunProcess bprun(
      {{"--ssh", fake_ssh("echo Welcome; echo news >&2"), "-H", "a:1,b:1", "echo", "hi"}});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_THAT(bprun.out(), testing::AnyOf("[0] hi\n[1] hi\n", "[1] hi\n[0] hi\n"));
  EXPECT_EQ(bprun.err(), "");
}

TEST(FakeSsh, AHostThatDoesNotAnswerIsNamedInTime) {
  const auto start = std::chrono::steady_clock::now();
  BprunProcess bprun(
      {{"--ssh", "sh -c 'exec sleep 1000'", "--start-timeout", "300ms", "-H", "a:1,b:1", "true"}});
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
  EXPECT_EQ(bprun.err(),
            "bprun: FAILED  host a gave no answer within 0.3 s (--start-timeout)\n"
            "  host b gave no answer within 0.3 s (--start-timeout)\n");
  EXPECT_EQ(bprun.marked(), 0);
}

TEST(FakeSsh, AConnectionThatBreaksLosesTheHost) {
  BprunProcess bprun({{"--ssh", fake_ssh("echo $$ >&2"), "-H", "localhost:1,far:1", "sh", "-c",
                       "if [ $RANK = 1 ]; then kill -9 $PPID; fi; exec sleep 1000"}});
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_THAT(bprun.err(), HasSubstr("bprun: FAILED  host far was lost: "));
  EXPECT_THAT(bprun.err(), HasSubstr("; rank 0 was stopped by bprun (SIGTERM, "));
  EXPECT_EQ(bprun.marked_at_last(), 0);
}

TEST(FakeSsh, AMissingSshIsSaid) {
  BprunProcess bprun({{"--ssh", "/no/such/ssh", "-H", "a:1", "true"}});
  EXPECT_EQ(bprun.finish(), 70);
  EXPECT_EQ(bprun.err(), "bprun: cannot run /no/such/ssh: there is no /no/such/ssh\n");
}

}  // namespace
}  // namespace bp::test
