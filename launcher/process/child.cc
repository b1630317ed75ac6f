#include "launcher/process/child.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {
namespace {

// waitid() returns the code and the status separately; waitpid() returns this one number for both.
int wait_status(const siginfo_t& info) {
  return info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status;
}

}  // namespace

Child::Child(pid_t pid) : handle_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {
  if (!handle_) {
    throw Error(ErrorCode::io, concat("pidfd_open failed: ", error_text(errno)));
  }
}

Child::~Child() { kill(); }

void Child::kill() {
  if (handle_) {
    ::syscall(SYS_pidfd_send_signal, handle_.get(), SIGKILL, nullptr, 0);
    static_cast<void>(wait(Deadline(std::chrono::seconds{1})));
  }
}

std::optional<int> Child::wait(Deadline deadline) {
  pollfd ended{handle_.get(), POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&ended, 1, static_cast<int>(deadline.left().count()));
  } while (ready < 0 && errno == EINTR);
  siginfo_t info{};
  if (ready != 1 || ::waitid(P_PIDFD, static_cast<id_t>(handle_.get()), &info, WEXITED) != 0) {
    return std::nullopt;
  }
  handle_.reset();
  return wait_status(info);
}

}  // namespace bp::launcher
