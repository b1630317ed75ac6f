#include "trainer/tasks/pretrain/trial_run.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace bp::trainer {
namespace {

// The child dies silently: without the reports of sanitizers, and without a core file.
[[noreturn]] void run_as_child(const std::function<void()>& action) {
  constexpr unsigned kLongestSeconds = 60;
  for (const int signal : {SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGALRM}) {
    (void)std::signal(signal, SIG_DFL);
  }
  (void)::prctl(PR_SET_DUMPABLE, 0);
  (void)::alarm(kLongestSeconds);
  action();
  ::_exit(0);
}

}  // namespace

bool survives(const std::function<void()>& action) {
  const pid_t child = ::fork();
  if (child < 0) return true;
  if (child == 0) run_as_child(action);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return true;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace bp::trainer
