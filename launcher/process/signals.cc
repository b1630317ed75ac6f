#include "launcher/process/signals.h"

#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {
namespace {

bool is_ignored(int number) {
  struct sigaction now = {};
  return ::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? concat("SIG", name) : concat("signal ", number);
}

std::vector<int> ignored_signals() {
  std::vector<int> ignored;
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    if (is_ignored(number)) {
      ignored.push_back(number);
    }
  }
  return ignored;
}

SignalFd::SignalFd(std::initializer_list<int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : signals) {
    if (number == SIGCHLD) {
      ::signal(SIGCHLD, SIG_DFL);
    }
    if (!is_ignored(number)) {
      ::sigaddset(&set, number);
    }
  }
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  fd_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) {
    throw Error(ErrorCode::io, concat("signalfd failed: ", error_text(errno)));
  }
}

std::vector<int> SignalFd::read() {
  std::vector<int> numbers;
  signalfd_siginfo info{};
  while (::read(fd_.get(), &info, sizeof info) == sizeof info) {
    numbers.push_back(static_cast<int>(info.ssi_signo));
  }
  return numbers;
}

void ignore_broken_pipes() { ::signal(SIGPIPE, SIG_IGN); }

}  // namespace bp::launcher
