#include "trainer/data/disk_space.h"

#include <sys/statvfs.h>

#include <filesystem>
#include <system_error>

#include "base/text.h"

namespace bp::trainer {

std::optional<std::uint64_t> free_space(const std::string& path) {
  std::error_code error;
  std::filesystem::path place = std::filesystem::absolute(path, error);
  while (!error && !std::filesystem::exists(place, error) && place.has_relative_path()) {
    place = place.parent_path();
    error.clear();
  }
  struct statvfs status = {};
  if (::statvfs(place.c_str(), &status) != 0) {
    return std::nullopt;
  }
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

std::string space_text(const std::string& path, std::uint64_t needed) {
  const std::optional<std::uint64_t> free = free_space(path);
  return concat("about ", size_text(needed), " more are needed",
                free ? concat(", ", size_text(*free), " are free there") : std::string());
}

}  // namespace bp::trainer
