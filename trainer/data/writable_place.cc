#include "trainer/data/writable_place.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/home_path.h"

namespace bp::trainer {

std::string writable_place(const std::string& name) {
  // Checks for the effective user, which is the one that writes.
  const auto may_write = [](const std::string& folder) {
    return ::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
  };
  if (may_write(".")) return name;
  if (const std::string home = expand_home("~"); may_write(home)) return home + "/" + name;
  std::error_code ignored;
  return (std::filesystem::temp_directory_path(ignored) / name).string();
}

}  // namespace bp::trainer
