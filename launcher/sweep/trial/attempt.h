// Runs one attempt at a trial: a copy of this process that does what bprun does, in a session of
// its own. That process writes down how the attempt ended, so that the end is not lost if the sweep
// was killed in the meantime, and no trial that has finished runs again.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "launcher/process/child.h"
#include "launcher/process/file_lock.h"

namespace bp::launcher::sweep {

struct ExitRecord {
  int attempt = 0;  // counted from 1
  int exit_code = 0;
  double ended = 0;  // seconds since 1970
  bool operator==(const ExitRecord&) const = default;
};

void fields(auto&& words, Of<ExitRecord> auto& it) {
  words("attempt", it.attempt);
  words("code", it.exit_code);
  words("at", it.ended);
}

// Takes the disk space of a record before an attempt starts, so that the disk may be full when it
// ends. Throws io.
void reserve_exit_record(const std::string& folder);

// Replaces the record in the trial's folder. Throws io.
void write_exit_record(const std::string& folder, const ExitRecord& record);

// Returns nothing if no attempt has ended yet, or if the file is not a record.
[[nodiscard]] std::optional<ExitRecord> read_exit_record(const std::string& folder);

// Takes the lock that an attempt holds until its record is written. Throws io if another process
// holds the lock of this folder.
[[nodiscard]] FileLock lock_attempt(const std::string& folder);
// Returns whether another process holds that lock.
[[nodiscard]] bool attempt_runs(const std::string& folder);

struct AttemptSpec {
  std::string folder;              // of the trial; must exist
  int attempt = 1;                 // its number, from 1
  std::vector<std::string> bprun;  // options of bprun, --, the program and its arguments
};

// If the process that started an attempt is killed, the attempt receives SIGTERM, which its ranks
// receive too, so that they can save. Its end is written down in any case.
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
