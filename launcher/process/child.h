// A child process with one owner.
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/deadline.h"
#include "base/fd.h"

namespace bp::launcher {

class Child {
 public:
  explicit Child(pid_t pid);
  ~Child();  // kills and reaps it if that has not been done
  Child(Child&&) noexcept = default;
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] int fd() const { return handle_.get(); }  // readable once it has ended
  // How it ended, as from waitpid; nothing if it has not by then.
  [[nodiscard]] std::optional<int> wait(Deadline deadline);
  void kill();  // and reap

 private:
  Fd handle_;  // a pidfd; empty once reaped
};

}  // namespace bp::launcher
