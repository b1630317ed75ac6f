// A child process that has one owner, which reaps it.
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/deadline.h"
#include "base/system/fd.h"

namespace bp::launcher {

class Child {
 public:
  explicit Child(pid_t pid);
  ~Child();  // kills and reaps it if it has not been reaped
  Child(Child&&) noexcept = default;
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] int fd() const { return handle_.get(); }  // readable once the process has ended
  // Waits until the process ends, and reaps it. Returns its status as waitpid() gives it; nothing
  // if the process still runs at the deadline.
  [[nodiscard]] std::optional<int> wait(Deadline deadline);
  void kill();  // also reaps it

 private:
  Fd handle_;  // a pidfd; empty once reaped
};

}  // namespace bp::launcher
