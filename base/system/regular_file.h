// Opens and reads files that a user named.
#pragma once

#include <cstddef>
#include <string>

#include "base/system/fd.h"

namespace bp {

struct OpenedFile {
  Fd fd;                // of a regular file, open for reading; empty when there is a problem
  std::string problem;  // "Permission denied", "it is a pipe, not a regular file"
  int error = 0;        // errno; 0 if the path is something other than a regular file
};

// Opens `path` for reading. Never waits for another process: a named pipe is refused whether or not
// a process writes to it.
[[nodiscard]] OpenedFile open_regular_file(const std::string& path);

struct FileContent {
  std::string text;
  std::string problem;  // that of the file, or why it cannot be read; empty if there is none
};

// Reads the whole file. More than `most` bytes are a problem, too: "it has no end within 1.0 MiB".
[[nodiscard]] FileContent read_whole(const OpenedFile& file, std::size_t most);

}  // namespace bp
