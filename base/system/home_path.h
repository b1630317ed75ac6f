// Paths that begin with ~ in places where no shell replaces it: configuration files, --option=PATH.
#pragma once

#include <string>

namespace bp {

// Replaces a leading "~" by the home folder of this process's user ($HOME, or else the user
// database), and a leading "~name" by that of the user `name`. Returns `path` unchanged if there is
// no such user. A file whose name begins with ~ is written "./~".
[[nodiscard]] std::string expand_home(const std::string& path);

}  // namespace bp
