// Keeps a second sweep out of a folder. The kernel releases the lock when the process ends, however
// it ends.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/fd.h"

namespace bp::launcher::sweep {

class FolderLock {
 public:
  // Throws unavailable if another process holds the lock, naming the folder and the process; io if
  // the lock cannot be made. The children of this process do not inherit the lock.
  explicit FolderLock(const std::string& folder);

  // Returns the process that holds the lock of the folder, as far as this machine knows it.
  [[nodiscard]] static std::optional<pid_t> holder(const std::string& folder);

 private:
  Fd file_;
};

}  // namespace bp::launcher::sweep
