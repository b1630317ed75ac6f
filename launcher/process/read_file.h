// Reads a whole file with read(2): a stream throws when a process of /proc ends between open and
// read.
#pragma once

#include <string>

namespace bp::launcher {

struct FileText {
  std::string text;
  int error = 0;  // errno of what failed; EFBIG for more than 16 MiB
};
[[nodiscard]] FileText read_file(const std::string& path);

}  // namespace bp::launcher
