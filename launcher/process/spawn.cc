#include "launcher/process/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <span>
#include <utility>

#include "base/system/signals_blocked.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/process/program.h"

namespace bp::launcher {
namespace {

std::vector<char*> c_strings(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) {
    pointers.push_back(const_cast<char*>(string.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Everything that the child needs. It is made before vfork: the child may only make
// async-signal-safe calls.
struct Prepared {
  const char* file;
  char** argv;
  char** environment;
  int fds[3];
  bool in_own_session;
  bool die_with_parent;
  std::span<const SoftLimit> limits;
  std::span<const int> ignored;
  pid_t parent;
  int error_pipe;
};

void reset_signals(std::span<const int> ignored) {
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) {
    // fails for SIGKILL and SIGSTOP, which cannot be changed
    ::sigaction(number, &standard, nullptr);
  }
  for (const int number : ignored) {
    ::signal(number, SIG_IGN);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void report_and_exit(int error_pipe) {
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(error_pipe, &error, sizeof error);
  ::_exit(127);
}

// Moves fds[0..2] to 0..2. A source below 3 is already in its place.
void place_standard_fds(const Prepared& prepared) {
  for (int target = 0; target < 3; ++target) {
    const int source = prepared.fds[target];
    if (source == target) {
      ::fcntl(source, F_SETFD, 0);
    } else if (source >= 0 && ::dup2(source, target) < 0) {
      report_and_exit(prepared.error_pipe);
    }
  }
}

[[noreturn]] void run_child(const Prepared& prepared) {
  prepared.in_own_session ? ::setsid() : ::setpgid(0, 0);
  if (prepared.die_with_parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != prepared.parent) {  // the parent ended before prctl()
      ::_exit(127);
    }
  }
  place_standard_fds(prepared);
  apply_limits(prepared.limits);
  reset_signals(prepared.ignored);
  ::execve(prepared.file, prepared.argv, prepared.environment);
  report_and_exit(prepared.error_pipe);
}

// vfork() spares a copy of the page tables: the child uses this process's memory until its program
// runs. It writes only to its own stack and errno.
pid_t start_child(const Prepared& prepared) {
  const pid_t pid = ::vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
  if (pid == 0) {
    run_child(prepared);  // NOLINT(clang-analyzer-unix.Vfork): it calls the kernel, and no more
  }
  return pid;
}

// A process that executes no program must close its descriptors itself.
void close_all_but_standard() {
  if (::syscall(SYS_close_range, 3U, ~0U, 0U) == 0) {
    return;
  }
  for (long fd = 3; fd < ::sysconf(_SC_OPEN_MAX); ++fd) {  // Linux before 5.9
    ::close(static_cast<int>(fd));
  }
}

}  // namespace

Pipe make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) {
    throw Error(ErrorCode::io, concat("cannot make a pipe: ", error_text(errno)));
  }
  return {.read = Fd(fds[0]), .write = Fd(fds[1])};
}

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

void widen_pipe(int fd) { ::fcntl(fd, F_SETPIPE_SZ, 1 << 20); }

SpawnResult spawn(const SpawnRequest& request) {
  const std::vector<char*> argv = c_strings(request.argv);
  const std::vector<char*> environment = c_strings(request.environment);
  Fd null;
  int standard_input = request.standard_input;
  if (standard_input < 0) {
    null = Fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!null) {
      return {.error = errno};  // else the program would have this process's stdin
    }
    standard_input = null.get();
  }
  Pipe error_pipe = make_pipe();
  const Prepared prepared{.file = request.file.c_str(),
                          .argv = const_cast<char**>(argv.data()),
                          .environment = const_cast<char**>(environment.data()),
                          .fds = {standard_input, request.standard_output, request.standard_error},
                          .in_own_session = request.in_own_session,
                          .die_with_parent = request.die_with_parent,
                          .limits = request.limits,
                          .ignored = request.ignored,
                          .parent = ::getpid(),
                          .error_pipe = error_pipe.write.get()};

  // No signal handler of this process may run in the child, so all signals are blocked here. The
  // child empties its mask.
  std::optional<SignalsBlocked> blocked(std::in_place);
  const pid_t pid = start_child(prepared);
  const int fork_error = errno;
  blocked.reset();
  if (pid < 0) {
    return {.error = fork_error};
  }

  error_pipe.write.reset();
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(error_pipe.read.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof error) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return {.error = error};
  }
  return {.pid = pid};
}

pid_t fork_copy(const Streams& streams, const std::function<int()>& run) {
  const pid_t pid = ::fork();
  if (pid < 0) {
    throw Error(ErrorCode::io, concat("cannot start a process: ", exec_error_text(errno)));
  }
  if (pid > 0) {
    return pid;
  }
  ::setsid();
  if (::dup2(streams.input, STDIN_FILENO) < 0 || ::dup2(streams.output, STDOUT_FILENO) < 0 ||
      ::dup2(streams.errors, STDERR_FILENO) < 0) {
    ::_exit(127);
  }
  close_all_but_standard();
  reset_signals({});
  ::_exit(run());
}

}  // namespace bp::launcher
