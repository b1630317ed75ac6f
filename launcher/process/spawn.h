// Starting a process, so that "it could not be started" is a value and not a mysterious exit code.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "launcher/process/limits.h"

namespace bp::launcher {

struct Pipe {
  Fd read;
  Fd write;
};
[[nodiscard]] Pipe make_pipe();  // close-on-exec, both ends; throws io
void set_nonblocking(int fd);
void widen_pipe(int fd);  // to 1 MiB, where the system allows it: fewer turns for much output

struct SpawnRequest {
  std::string file;                      // what to execute; not looked up
  std::vector<std::string> argv;         // with argv[0]
  std::vector<std::string> environment;  // NAME=VALUE
  int standard_input = -1;               // -1: /dev/null
  int standard_output = -1;              // -1: as here
  int standard_error = -1;               // -1: as here
  // Linux can deal out its cores by session first ("autogroup"), and then sched_yield() never gives
  // a core to a process of another one: processes that wait for each other want to share one.
  bool in_own_session = true;
  bool die_with_parent = false;        // SIGKILL when the thread that called spawn() ends
  std::vector<SoftLimit> limits = {};  // the others are ours
  std::vector<int> ignored = {};       // signals that the program begins with ignored
};

struct SpawnResult {
  pid_t pid = -1;
  int error = 0;  // errno of what failed, 0 when the program runs
};

// Starts the program in a process group of its own, with every signal unblocked and, but for
// `ignored`, at its default.
// Returns once it runs or has failed to. Descriptors that are not close-on-exec are inherited. The
// caller reaps it.
[[nodiscard]] SpawnResult spawn(const SpawnRequest& request);

// The standard streams of a copy of this process.
struct Streams {
  int input = -1;
  int output = -1;
  int errors = -1;
};

// Starts `run` in a copy of this process, which must have no other thread: in a session of its own,
// with these streams and no other descriptor, and with every signal unblocked and at its default.
// The copy ends with what `run` returns. Throws io. It costs a tenth of starting our program again,
// which has libraries to load. The caller reaps it.
[[nodiscard]] pid_t fork_copy(const Streams& streams, const std::function<int()>& run);

}  // namespace bp::launcher
