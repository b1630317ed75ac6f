// Runs one attempt at a trial: a copy of this process that does what bprun does, in a session of
// its own.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "launcher/process/child.h"

namespace bp::launcher::sweep {

struct AttemptSpec {
  std::string folder;              // of the trial; must exist
  int attempt = 1;                 // its number, from 1
  std::vector<std::string> bprun;  // options of bprun, --, the program and its arguments
};

// If the process that started an attempt is killed, the attempt receives SIGTERM, which its ranks
// receive too, so that they can save. Its end is written down (exit_record.h) in any case.
class Attempt {
 public:
  // Starts the attempt. Its output is appended to `stdout` and `stderr` in the trial's folder. This
  // process must have no other thread. Throws io.
  explicit Attempt(AttemptSpec spec);

  [[nodiscard]] int fd() const { return child_->fd(); }  // readable once the attempt has ended
  void signal(int number) const;                         // SIGTERM asks it to stop
  // Reaps the process if it has ended; else returns nothing. An attempt that was killed before it
  // could write a record has no exit code of its own; 128 + the signal's number stands for it.
  [[nodiscard]] std::optional<int> exit_code();

 private:
  pid_t pid_ = -1;
  std::optional<Child> child_;
};

}  // namespace bp::launcher::sweep
