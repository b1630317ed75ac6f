// Opens files that a user named.
#pragma once

#include <string>

#include "base/fd.h"

namespace bp {

struct OpenedFile {
  Fd fd;                // of a regular file, open for reading; empty when there is a problem
  std::string problem;  // "Permission denied", "it is a pipe, not a regular file"
  int error = 0;        // errno; 0 if the path is something other than a regular file
};

// Opens `path` for reading. Never waits for another process: a named pipe is refused whether or not
// a process writes to it.
[[nodiscard]] OpenedFile open_regular_file(const std::string& path);

}  // namespace bp
