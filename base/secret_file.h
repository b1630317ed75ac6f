// A secret that its user keeps in a file.
#pragma once

#include <string>

namespace bp {

// What the file holds: 16 bytes or more. Throws invalid_argument, beginning with "the file", where
// it cannot be read or is shorter, or is the caller's own and others may read it.
[[nodiscard]] std::string read_secret_file(const std::string& path);

}  // namespace bp
