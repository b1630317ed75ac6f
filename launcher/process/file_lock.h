// Locks a file for this process. The kernel releases the lock when the process ends, however it
// ends.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/system/fd.h"

namespace bp::launcher {

class FileLock {
 public:
  // Makes the file if there is none, and locks it unless another process holds the lock. Throws io.
  // The children of this process do not inherit the lock.
  explicit FileLock(const std::string& path);

  [[nodiscard]] bool taken() const { return taken_; }

  // Returns the process that holds the lock, as far as this machine knows it.
  [[nodiscard]] static std::optional<pid_t> holder(const std::string& path);

 private:
  Fd file_;
  bool taken_;
};

}  // namespace bp::launcher
