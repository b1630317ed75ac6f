#include "launcher/process/program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/system/process_limit.h"
#include "base/text.h"

namespace bp::launcher {
namespace {

constexpr int kCannotStart = 70;
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

// Returns 0, or the errno that says why `file` cannot be run.
int why_not(const std::string& file) {
  struct stat status = {};
  if (::stat(file.c_str(), &status) != 0) {
    return errno;
  }
  if (S_ISDIR(status.st_mode)) {
    return EISDIR;
  }
  return ::access(file.c_str(), X_OK) == 0 ? 0 : EACCES;
}

Program problem_with(const std::string& file, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return {"", kNotFound, concat("there is no ", file)};
    case EISDIR:
      return {"", kNotExecutable, concat(file, " is a folder")};
    case EACCES:
      return {"", kNotExecutable, concat(file, " is not executable (chmod +x makes it so)")};
    default:
      return {"", kNotExecutable, concat(file, ": ", error_text(error))};
  }
}

}  // namespace

Program find_program(const std::string& name, const ProgramSearch& search) {
  if (name.find('/') != std::string::npos) {
    const int error = why_not(name);
    return error == 0 ? Program{name, 0, ""} : problem_with(name, error);
  }
  Program refused;  // the first file that exists but cannot be run
  const auto try_folder = [&](std::string_view folder) {
    const std::string file = concat(folder.empty() ? "." : folder, "/", name);
    const int error = why_not(file);
    if (error == EACCES && refused.exit_code == 0) {
      refused = problem_with(file, error);
    }
    return error == 0 ? file : std::string{};
  };
  std::string_view rest = search.path;
  while (!search.path.empty()) {
    const std::size_t colon = rest.find(':');
    if (std::string file = try_folder(rest.substr(0, colon)); !file.empty()) {
      return {file, 0, ""};
    }
    if (colon == std::string_view::npos) {
      break;
    }
    rest.remove_prefix(colon + 1);
  }
  if (std::string file = try_folder(search.beside); !file.empty()) {
    return {file, 0, ""};
  }
  if (refused.exit_code != 0) {
    return refused;
  }
  if (why_not(concat("./", name)) == 0) {
    return {"", kNotFound, concat("it is in the working directory, not on PATH: type ./", name)};
  }
  return {"", kNotFound, concat("it is neither on PATH nor in ", search.beside)};
}

int exit_code_of_exec_error(int error) {
  if (error == EAGAIN || error == ENOMEM) return kCannotStart;  // the program is not to blame
  return error == ENOENT ? kNotFound : kNotExecutable;
}

std::string exec_error_text(int error) {
  switch (error) {
    case ENOENT:  // find_program() found the file, so its interpreter is missing
      return "the interpreter that it names (after #!, or the dynamic linker) is not there";
    case ENOEXEC:
      return "not a program for this machine, and no script with a #! line";
    case E2BIG:
      return "its arguments and environment are too large for the kernel";
    case EAGAIN:
      return error_text(error) + kProcessLimits;
    default:
      return error_text(error);
  }
}

std::string own_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

}  // namespace bp::launcher
