// Paths with ~, where no shell has replaced it: in configuration files, and after --option=.
#pragma once

#include <string>

namespace bp {

// `path` with a leading "~" or "~/" replaced by the user's home folder ($HOME, else the user
// database), and "~name" by that user's. Unchanged when there is no such user; write "./~" for a
// file that is called so.
[[nodiscard]] std::string expand_home(const std::string& path);

}  // namespace bp
