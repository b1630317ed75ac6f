#include "trainer/common/look_up.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/input_error.h"
#include "base/shell_word.h"
#include "base/system/home_path.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

std::string hint_for(const std::string& path, const std::error_code& why) {
  if (why == std::errc::permission_denied || why == std::errc::operation_not_permitted) {
    return concat("you need permission to read it and to enter the folders above it: namei -l ",
                  quote_shell_word(path), " shows who may");
  }
  if (why == std::errc::filename_too_long) return "choose a shorter name";
  if (why == std::errc::too_many_symbolic_link_levels) {
    return "a symbolic link in this path leads back to itself; remove it";
  }
  return "see whether its disk or server answers, for example with ls";
}

bool means_absent(const std::error_code& why) {
  return why == std::errc::no_such_file_or_directory || why == std::errc::not_a_directory;
}

}  // namespace

void refuse_look_up(const std::string& path, const std::error_code& why) {
  throw InputError(66, concat("cannot read ", path, ": ", why.message()), hint_for(path, why));
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

bool path_exists(const std::string& path) {
  std::error_code error;
  const bool exists = fs::exists(path, error);
  if (error && !means_absent(error)) refuse_look_up(path, error);
  return exists;
}

bool folder_exists(const std::string& path) {
  std::error_code error;
  const bool exists = fs::is_directory(path, error);
  if (error && !means_absent(error)) refuse_look_up(path, error);
  return exists;
}

std::uintmax_t size_of_file(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) refuse_look_up(path, error);
  return size;
}

std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  if (means_absent(error)) return names;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) refuse_look_up(folder, error);
  return names;
}

std::string text_in(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> files_that_begin(const std::string& prefix) {
  const fs::path begin(prefix);
  const fs::path folder = begin.has_parent_path() ? begin.parent_path() : fs::path(".");
  std::vector<std::string> files;
  std::error_code end;
  for (fs::directory_iterator entry(folder, end); !end && entry != fs::directory_iterator();
       entry.increment(end)) {
    const bool begins = entry->path().filename().string().starts_with(begin.filename().string());
    if (begins) files.push_back(entry->path().string());
  }
  return files;
}

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
