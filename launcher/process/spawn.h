// Starts processes. A program that cannot be started is a returned errno, not an exit code that the
// program might have chosen too.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/system/fd.h"
#include "launcher/process/limits.h"

namespace bp::launcher {

struct Pipe {
  Fd read;
  Fd write;
};
[[nodiscard]] Pipe make_pipe();  // both ends are close-on-exec; throws io
void set_nonblocking(int fd);
// Makes the pipe 1 MiB large if the system allows it, so that much output needs fewer wake-ups.
void widen_pipe(int fd);

struct SpawnRequest {
  std::string file;                      // the path to execute; no search on PATH
  std::vector<std::string> argv;         // begins with argv[0]
  std::vector<std::string> environment;  // NAME=VALUE
  int standard_input = -1;               // -1: /dev/null
  int standard_output = -1;              // -1: this process's
  int standard_error = -1;               // -1: this process's
  // Linux may divide its cores among sessions first ("autogroup"). sched_yield() then never gives a
  // core to a process of another session, so processes that wait for each other should share one.
  bool in_own_session = true;
  bool die_with_parent = false;        // SIGKILL when the thread that called spawn() ends
  std::vector<SoftLimit> limits = {};  // limits that are not listed are inherited
  std::vector<int> ignored = {};       // signals that the program ignores from its start
};

struct SpawnResult {
  pid_t pid = -1;
  int error = 0;  // errno of the failed call; 0 if the program runs
};

// Starts the program in a process group of its own, with every signal unblocked and, except for
// `ignored`, at its default. Blocks until the program runs or has failed to start. The program
// inherits descriptors that are not close-on-exec. The caller must reap it.
[[nodiscard]] SpawnResult spawn(const SpawnRequest& request);

// The standard streams of a copy of this process.
struct Streams {
  int input = -1;
  int output = -1;
  int errors = -1;
};

// Runs `run` in a copy of this process and returns the copy's pid. This process must have no other
// thread. The copy has its own session, these streams, no other descriptor, and every signal
// unblocked and at its default. It ends with the exit code that `run` returns. Throws io. This
// takes a tenth of the time of starting bprun again, which would load libraries. The caller must
// reap the copy.
[[nodiscard]] pid_t fork_copy(const Streams& streams, const std::function<int()>& run);

}  // namespace bp::launcher
