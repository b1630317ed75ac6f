#include "tests/e2e/launcher/bprun_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "base/text.h"
#include "launcher/process/environment_list.h"
#include "launcher/process/process_tree.h"
#include "launcher/process/read_file.h"
#include "launcher/process/shell_words.h"
#include "launcher/process/spawn.h"
#include "tests/support/places.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;

std::string new_mark() {
  static std::atomic<int> count{0};
  return concat("BP_TEST_MARK=", ::getpid(), "-", count++);
}

// A file holds any amount of input, whereas a pipe would have to be fed.
Fd file_with(const std::string& text) {
  Fd file(::memfd_create("input", MFD_CLOEXEC));
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error("cannot write the input");
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

// Both ends of a terminal that passes bytes unchanged.
launcher::Pipe make_terminal() {
  Fd ours(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!ours || ::grantpt(ours.get()) != 0 || ::unlockpt(ours.get()) != 0) {
    throw std::runtime_error("cannot make a terminal");
  }
  Fd theirs(::open(::ptsname(ours.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios settings{};
  ::tcgetattr(theirs.get(), &settings);
  ::cfmakeraw(&settings);
  ::tcsetattr(theirs.get(), TCSANOW, &settings);
  const winsize size{.ws_row = 20, .ws_col = 40, .ws_xpixel = 0, .ws_ypixel = 0};
  ::ioctl(theirs.get(), TIOCSWINSZ, &size);
  return {std::move(ours), std::move(theirs)};
}

void drain(Fd& pipe, std::string& text) {
  std::array<char, 65536> buffer;
  const ssize_t got = ::read(pipe.get(), buffer.data(), buffer.size());
  if (got > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  } else {
    pipe.reset();
  }
}

}  // namespace

std::string fake_ssh(const std::string& before) {
  // That of a developer's own login would make the host one that real ssh has reached.
  const std::string script =
      concat("unset SSH_CONNECTION; ", before, "; for word; do :; done; exec sh -c \"$word\"");
  return concat("sh -c ", launcher::quote_shell_word(script), " ssh");
}

std::string rank_program() {
  return (std::filesystem::path(kBinDir).parent_path() / "tests" / "rank_program").string();
}

std::string fake_nvml_folder() {
  return (std::filesystem::path(rank_program()).parent_path() / "fake_nvml").string();
}

BprunProcess::BprunProcess(const BprunInput& input) : mark_(new_mark()) {
  launcher::Pipe out = input.terminal ? make_terminal() : launcher::make_pipe();
  launcher::Pipe err = input.terminal ? launcher::Pipe{} : launcher::make_pipe();
  const Fd in = file_with(input.standard_input);
  launcher::SpawnRequest request;
  request.argv = input.before;
  request.argv.push_back(kBinDir + "/bprun");
  request.file = request.argv.front();
  request.argv.insert(request.argv.end(), input.arguments.begin(), input.arguments.end());
  request.environment =
      launcher::merged_environment(launcher::own_environment(), input.environment);
  request.environment = launcher::merged_environment(std::move(request.environment), {mark_});
  request.standard_input = in.get();
  request.standard_output = out.write.get();
  request.standard_error = input.terminal ? out.write.get() : err.write.get();
  const auto result = launcher::spawn(request);
  if (result.error != 0) {
    throw std::runtime_error("cannot start " + request.file + ": " + error_text(result.error));
  }
  pid_ = result.pid;
  child_ = std::make_unique<launcher::Child>(result.pid);
  out_pipe_ = std::move(out.read);
  err_pipe_ = std::move(err.read);
}

bool BprunProcess::read_some(std::chrono::milliseconds limit) {
  std::array<pollfd, 2> fds{{{out_pipe_.get(), POLLIN, 0}, {err_pipe_.get(), POLLIN, 0}}};
  if (::poll(fds.data(), fds.size(), static_cast<int>(limit.count())) <= 0) {
    return false;
  }
  if (fds[0].revents != 0) {
    drain(out_pipe_, out_);
  }
  if (fds[1].revents != 0) {
    drain(err_pipe_, err_);
  }
  return true;
}

bool BprunProcess::wait_for(const std::string& text) {
  const Deadline deadline(30s);
  while (out_.find(text) == std::string::npos && err_.find(text) == std::string::npos) {
    if ((!out_pipe_ && !err_pipe_) || !read_some(deadline.left())) {
      return false;
    }
  }
  return true;
}

void BprunProcess::signal(int number) const { ::kill(pid_, number); }

int BprunProcess::finish() {
  const Deadline deadline(60s);
  while ((out_pipe_ || err_pipe_) && read_some(deadline.left())) {
  }
  const auto status = child_->wait(deadline);
  if (!status) {
    return -1;
  }
  return WIFSIGNALED(*status) ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status);
}

std::vector<pid_t> BprunProcess::marked_processes() const {
  std::vector<pid_t> pids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const int pid = std::atoi(entry.path().filename().c_str());
    if (pid > 0 && launcher::has_environment_entry(pid, mark_.c_str())) {
      pids.push_back(pid);
    }
  }
  return pids;
}

int BprunProcess::marked() const { return static_cast<int>(marked_processes().size()); }

bool BprunProcess::wait_until_stopped(int count) const {
  const auto is_stopped = [](pid_t pid) {
    const std::string stat = launcher::read_file(concat("/proc/", pid, "/stat")).text;
    const std::size_t name_end = stat.rfind(") ");
    return name_end != std::string::npos && stat.substr(name_end + 2, 1) == "T";
  };
  for (const Deadline deadline(10s); !deadline.passed(); ::usleep(5000)) {
    if (std::ranges::count_if(marked_processes(), is_stopped) == count) {
      return true;
    }
  }
  return false;
}

int BprunProcess::marked_at_last() const {
  const Deadline deadline(10s);
  int count = marked();
  while (count > 0 && !deadline.passed()) {
    ::usleep(5000);
    count = marked();
  }
  return count;
}

}  // namespace bp::test
