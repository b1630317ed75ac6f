#include "launcher/agent/watchdog.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/deadline.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/process/process_tree.h"
#include "launcher/process/spawn.h"
#include "launcher/protocol/timing.h"

namespace bp::launcher {
namespace {

constexpr int kPipe = 3;
// When the whole machine was suspended and continues, the agent needs a moment to call calm().
constexpr std::chrono::milliseconds kSecondLook{1'000};
constexpr std::chrono::milliseconds kKillWithin{
    5'000};  // a process that lives longer hangs in the kernel

// Keeps only the pipe of the agent's open files. An ssh that waits for the end of its output would
// otherwise wait for this process.
void let_go_of_files(int pipe) {
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(pipe, kPipe);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::dup2(null, standard) < 0) {
      ::close(standard);
    }
  }
  ::close_range(kPipe + 1, ~0U, 0);
}

// Whether the agent calls calm(), or ends, within `limit`.
bool hears(std::chrono::milliseconds limit) {
  pollfd entry{.fd = kPipe, .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = ::poll(&entry, 1, static_cast<int>(limit.count()));
  } while (ready < 0 && errno == EINTR);
  return ready != 0;
}

// Kills the processes below the agent first: once the agent is dead, they are hard to find.
void kill_all(pid_t agent) {
  const Deadline deadline(kKillWithin);
  while (!deadline.passed()) {
    auto below = descendants_of(agent);
    std::erase_if(below, [](const ProcessEntry& entry) { return entry.pid == ::getpid(); });
    if (below.empty()) {
      break;
    }
    for (const ProcessEntry& process : below) {
      signal_process(process, SIGKILL);
    }
    ::usleep(static_cast<useconds_t>(std::chrono::microseconds(kKillAgain).count()));
  }
  if (::getppid() == agent) {  // else it has ended meanwhile
    ::kill(agent, SIGKILL);
  }
}

[[noreturn]] void watch(pid_t agent, int pipe, std::chrono::milliseconds limit) {
  ::prctl(PR_SET_NAME, "bprun-watchdog");
  ::setsid();
  let_go_of_files(pipe);
  std::array<char, 64> signs{};
  while (hears(limit) || hears(kSecondLook)) {
    if (::read(kPipe, signs.data(), signs.size()) == 0) {
      ::_exit(0);
    }
  }
  kill_all(agent);
  ::_exit(0);
}

}  // namespace

Watchdog::Watchdog(std::chrono::milliseconds limit) {
  Pipe pipe = make_pipe();
  set_nonblocking(pipe.write.get());
  const pid_t agent = ::getpid();
  // Like fork(), but the end of this child sends no signal, so waitid() does not count it as a
  // child. The agent takes "no child" to mean that its ranks have left no process.
  pid_ = static_cast<pid_t>(::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr));
  if (pid_ == 0) {
    pipe.write.reset();
    watch(agent, pipe.read.get(), limit);
  }
  if (pid_ < 0) {
    throw Error(ErrorCode::io, concat("cannot start a process: ", error_text(errno)));
  }
  pipe_ = std::move(pipe.write);
}

Watchdog::~Watchdog() {
  ::kill(pid_, SIGKILL);  // not reaped yet, so no other process has its number
  ::waitpid(pid_, nullptr, __WCLONE);
}

void Watchdog::calm() const { static_cast<void>(::write(pipe_.get(), "", 1)); }

}  // namespace bp::launcher
