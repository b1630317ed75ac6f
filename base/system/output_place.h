// Decides how to write an output that a user named. A file is best replaced by a rename, but a
// rename would also replace a device, a named pipe or a symbolic link by a file.
#pragma once

#include <string>
#include <system_error>

#include "base/system/fd.h"

namespace bp {

struct OutputPlace {
  // The file to create or to replace: the end of all symbolic links, which may not exist. Empty if
  // the output must be written directly to what exists: a device, a pipe, or an open descriptor
  // such as /dev/stdout.
  std::string file = {};
  int descriptor = -1;  // of this process, which the name stands for: 1 for /dev/stdout
};

// Never fails: what is wrong with `path` shows when it is opened. Names a folder as a file.
[[nodiscard]] OutputPlace output_place(const std::string& path);

// Opens an output without a file of its own. Blocks for a named pipe until a process reads it.
// Returns an empty Fd if it cannot be opened; errno then says why.
[[nodiscard]] Fd open_directly(const std::string& path, const OutputPlace& place);

// Creates a folder, and those above it, for a file that is opened next.
class OutputFolder {
 public:
  explicit OutputFolder(const std::string& path);
  // Returns why the file cannot be opened: why the folder could not be created, or else what errno
  // says.
  [[nodiscard]] std::string why_not() const;

 private:
  std::error_code problem_;
};

// Returns why nothing can be written there ("it is a folder", "its folder does not exist"), or "".
[[nodiscard]] std::string output_problem(const std::string& path);

}  // namespace bp
