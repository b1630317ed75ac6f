// A secret that the user keeps in a file.
#pragma once

#include <string>

namespace bp {

// Returns the content of the file, 16 bytes to 1 MiB. Throws invalid_argument, with a text that
// begins with "the file", if it cannot be read, is shorter or longer, or belongs to this user and
// has any permission for others.
[[nodiscard]] std::string read_secret_file(const std::string& path);

}  // namespace bp
