#include "tests/hosts/hosts.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/deadline.h"
#include "base/text.h"
#include "launcher/process/environment_list.h"
#include "launcher/process/shell_words.h"
#include "launcher/process/spawn.h"
#include "tests/support/places.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Reads up to the first newline or the end, for at most a minute.
std::string read_line(const Fd& pipe) {
  const Deadline deadline(60s);
  std::string line;
  std::array<char, 1> byte{};
  pollfd poll{pipe.get(), POLLIN, 0};
  while (::poll(&poll, 1, static_cast<int>(deadline.left().count())) > 0 &&
         ::read(pipe.get(), byte.data(), byte.size()) == 1 && byte[0] != '\n') {
    line += byte[0];
  }
  return line;
}

}  // namespace

Hosts::Hosts(const std::vector<std::string>& names, const std::vector<std::string>& options) {
  launcher::Pipe in = launcher::make_pipe();
  launcher::Pipe out = launcher::make_pipe();
  launcher::SpawnRequest request;
  request.file = kSourceDir + "/tests/hosts/with_hosts";
  request.argv = {request.file};
  request.argv.insert(request.argv.end(), options.begin(), options.end());
  request.argv.insert(request.argv.end(), names.begin(), names.end());
  request.argv.insert(request.argv.end(), {"--", "sh", "-c", "echo $BP_HOSTS; exec cat"});
  // bash warns of a locale that is not installed before it runs the script.
  request.environment = launcher::merged_environment(launcher::own_environment(), {"LC_ALL=C"});
  request.standard_input = in.read.get();
  request.standard_output = out.write.get();
  request.standard_error = out.write.get();
  const auto started = launcher::spawn(request);
  if (started.error != 0) {
    throw std::runtime_error(concat("cannot run ", request.file, ": ", error_text(started.error)));
  }
  script_ = std::make_unique<launcher::Child>(started.pid);
  input_ = std::move(in.write);
  out.write.reset();
  folder_ = read_line(out.read);
  if (!std::filesystem::is_directory(folder_)) {
    missing_ = folder_.empty() ? "with_hosts printed nothing within a minute" : folder_;
  }
}

Hosts::~Hosts() {
  input_.reset();
  static_cast<void>(script_->wait(Deadline(10s)));
}

std::string Hosts::pid_of(const std::string& host) const {
  return first_line(concat(folder_, "/", host, ".pid"));
}

std::vector<std::string> Hosts::on(const std::string& host) const {
  std::vector<std::string> words = {"/usr/bin/nsenter", concat("--target=", pid_of(host))};
  if (host == "head") {
    words.insert(words.end(), {"--mount", "--net", "--uts"});
  } else {
    words.emplace_back("--all");
  }
  words.push_back(concat("--wdns=", std::filesystem::current_path().string()));
  return words;
}

void Hosts::at(const std::string& host, const std::string& command) const {
  const std::string of_host = host == "head" ? "--mount --net --uts" : "--all";
  const std::string line = concat("nsenter --target=", pid_of(host), " ", of_host, " sh -c ",
                                  launcher::quote_shell_word(command));
  EXPECT_EQ(std::system(line.c_str()), 0) << line;
}

std::vector<std::string> Hosts::processes(const std::string& host) const {
  const std::string first = pid_of(host);
  const auto space_of = [](const std::string& pid) {
    std::error_code gone;
    return std::filesystem::read_symlink(concat("/proc/", pid, "/ns/pid"), gone);
  };
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename();
    if (std::atoi(pid.c_str()) > 0 && pid != first && space_of(pid) == space_of(first)) {
      const std::string name = first_line(entry.path() / "comm");
      if (!name.empty() && !name.starts_with("sshd")) names.push_back(name);
    }
  }
  return names;
}

std::vector<std::string> Hosts::processes_at_last(const std::string& host) const {
  const Deadline deadline(20s);
  auto left = processes(host);
  while (!left.empty() && !deadline.passed()) {
    ::usleep(5000);
    left = processes(host);
  }
  return left;
}

void HostsTest::SetUp() {
  if (!hosts_.missing().empty()) GTEST_SKIP() << hosts_.missing();
}

void HostsTest::TearDown() {
  if (IsSkipped()) return;
  for (const char* host : {"a", "b", "c"}) {
    EXPECT_THAT(hosts_.processes_at_last(host), testing::IsEmpty()) << "left on host " << host;
  }
}

bool HostsTest::all_say(BprunProcess& bprun, int ranks, const std::string& word) {
  for (int rank = 0; rank < ranks; ++rank) {
    if (!bprun.wait_for(concat("[", rank, "] ", word, "\n"))) return false;
  }
  return true;
}

void HostsTest::expect_no_process_on(const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    EXPECT_THAT(hosts_.processes(name), testing::IsEmpty()) << "left on host " << name;
  }
}

BprunProcess HostsTest::run(std::vector<std::string> arguments, const std::string& before) const {
  std::vector<std::string> words = hosts_.on("head");
  words.insert(words.end(), {"sh", "-c", concat(before, "; exec \"$0\" \"$@\"")});
  return BprunProcess({.arguments = std::move(arguments), .before = std::move(words)});
}

}  // namespace bp::test
