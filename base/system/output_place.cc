#include "base/system/output_place.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/text.h"

namespace bp {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as the kernel's limit

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// The links in /proc stand for what is open, and their texts need not be paths.
bool is_in_proc(const fs::path& path) {
  struct statfs about = {};
  return ::statfs(folder_of(path).c_str(), &about) == 0 && about.f_type == PROC_SUPER_MAGIC;
}

// Returns N for /proc/self/fd/N under any name, else -1.
int own_descriptor(const fs::path& path) {
  const std::string name = path.filename().string();
  constexpr std::size_t kMostDigits = 9;
  const bool number = !name.empty() && name.size() <= kMostDigits &&
                      std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
  std::error_code error;
  if (!number || !fs::equivalent(folder_of(path), "/proc/self/fd", error)) return -1;
  return std::stoi(name);
}

bool replaceable(const std::string& path) {
  struct stat about = {};
  if (::stat(path.c_str(), &about) != 0) return errno != ELOOP;
  return S_ISREG(about.st_mode) || S_ISDIR(about.st_mode);
}

}  // namespace

OutputPlace output_place(const std::string& path) {
  fs::path at = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(at, error); ++i) {
    if (is_in_proc(at)) return {.descriptor = own_descriptor(at)};
    const fs::path next = fs::read_symlink(at, error);
    if (error) break;
    at = at.parent_path() / next;
  }
  return replaceable(path) ? OutputPlace{.file = at.string()} : OutputPlace{};
}

Fd open_directly(const std::string& path, const OutputPlace& place) {
  // A duplicate continues where the descriptor's other writers are; an opened file would not.
  if (place.descriptor >= 0) return Fd(::fcntl(place.descriptor, F_DUPFD_CLOEXEC, 0));
  return Fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC));
}

OutputFolder::OutputFolder(const std::string& path) { fs::create_directories(path, problem_); }

std::string OutputFolder::why_not() const {
  return problem_ ? problem_.message() : error_text(errno);
}

std::string output_problem(const std::string& path) {
  const OutputPlace place = output_place(path);
  struct stat about = {};
  const bool exists = ::stat(path.c_str(), &about) == 0;
  if (exists && S_ISDIR(about.st_mode)) return "it is a folder";
  if (place.descriptor >= 0) return "";
  if (place.file.empty()) {
    if (!exists) return error_text(errno);
    if (S_ISSOCK(about.st_mode)) return "it is a socket";
    return ::access(path.c_str(), W_OK) == 0 ? "" : "you may not write to it";
  }
  const fs::path folder = folder_of(place.file);
  std::error_code error;
  if (!fs::is_directory(folder, error)) return "its folder does not exist";
  return ::access(folder.c_str(), W_OK) == 0 ? "" : "you may not write into its folder";
}

}  // namespace bp
