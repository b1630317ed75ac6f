#include "base/system/home_path.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace bp {
namespace {

// Returns the home folder of `user`, or of the user of this process if that is empty. Returns "" if
// it is unknown.
std::string home_of(const std::string& user) {
  const char* const home = user.empty() ? std::getenv("HOME") : nullptr;
  if (home != nullptr && *home != '\0') return home;
  const passwd* const entry = user.empty() ? ::getpwuid(::getuid()) : ::getpwnam(user.c_str());
  return entry == nullptr || entry->pw_dir == nullptr ? "" : entry->pw_dir;
}

}  // namespace

std::string expand_home(const std::string& path) {
  if (!path.starts_with('~')) return path;
  const std::size_t slash = path.find('/');
  const std::string home = home_of(path.substr(1, slash == std::string::npos ? slash : slash - 1));
  if (home.empty()) return path;
  return slash == std::string::npos ? home : home + path.substr(slash);
}

}  // namespace bp
