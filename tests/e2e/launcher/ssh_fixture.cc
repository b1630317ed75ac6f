#include "tests/e2e/launcher/ssh_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/deadline.h"
#include "base/text.h"
#include "launcher/process/environment_list.h"
#include "launcher/process/shell_words.h"
#include "launcher/process/spawn.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kSshd = "/usr/sbin/sshd";

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Binds a socket that does not listen: the port is no other process's while it is open, connections
// to it are refused, and sshd, which sets SO_REUSEADDR as well, can still listen there.
Fd reserve_port() {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  const sockaddr_in address = loopback(0);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return socket;
}

int port_of(const Fd& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

bool accepts(int port) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

void write_file(const std::string& path, const std::string& text, mode_t mode) {
  std::ofstream(path) << text;
  ::chmod(path.c_str(), mode);
}

Sshd::Sshd(const std::string& folder, const std::string& name)
    : reserved_(reserve_port()), port_(port_of(reserved_)) {
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

void SshTest::SetUp() {
  if (::access(kSshd, X_OK) != 0 || std::system("command -v ssh ssh-keygen >/dev/null") != 0) {
    GTEST_SKIP() << "sshd, ssh or ssh-keygen is not installed";
  }
  if (::geteuid() == 0) {
    std::filesystem::create_directories("/run/sshd");  // sshd needs this folder if root starts it
  }
  for (const char* key : {"key", "host_key"}) {
    const std::string command = concat("ssh-keygen -q -t ed25519 -N '' -f ", folder(), "/", key);
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  for (const char* name : {"h1", "h2"}) {
    auto& server = name == std::string("h1") ? h1_ : h2_;
    server = std::make_unique<Sshd>(folder(), name);
    if (!server->listening()) {
      if (::geteuid() != 0) GTEST_SKIP() << "sshd does not start without root here";
      FAIL() << "sshd does not start; its own output is above";
    }
  }
  write_client_config();
}

void SshTest::write_client_config() const {
  std::string config;
  for (const auto& [name, port] : {std::pair{"h1", h1_->port()}, std::pair{"h2", h2_->port()}}) {
    config += concat("Host ", name, "\n  HostName 127.0.0.1\n  Port ", port, "\n");
  }
  config +=
      concat("Host *\n  IdentityFile ", folder(), "/key\n  IdentitiesOnly yes\n",
             "  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n");
  write_file(folder() + "/config", config);
}

BprunProcess SshTest::run(std::vector<std::string> arguments) const {
  // The name of a tool must stay the first argument.
  const bool tool = !arguments.empty() && !arguments.front().starts_with('-');
  arguments.insert(arguments.begin() + (tool ? 1 : 0),
                   {"--ssh", "ssh -F " + launcher::quote_shell_word(folder() + "/config")});
  return BprunProcess({std::move(arguments)});
}

}  // namespace bp::test
