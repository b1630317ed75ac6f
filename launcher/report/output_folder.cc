#include "launcher/report/output_folder.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {
namespace {

namespace fs = std::filesystem;

std::string name_of_folder(const std::string& job) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S-", &local);
  return concat(text.data(), job);
}

// Replaces the link by a rename, so that it always points to a folder.
void point_latest(const fs::path& parent, const std::string& folder) {
  const fs::path made = parent / concat(".latest-", folder);
  if (::symlink(folder.c_str(), made.c_str()) == 0 &&
      ::rename(made.c_str(), (parent / "latest").c_str()) != 0) {
    ::unlink(made.c_str());
  }
}

}  // namespace

std::string make_output_folder(const std::string& parent, const std::string& job) {
  const std::string name = name_of_folder(job);
  const fs::path folder = fs::path(parent) / name;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw Error(ErrorCode::io, concat("--output: cannot make the folder ", folder.string(), ": ",
                                      error.message(), "; name another folder, or one with room"));
  }
  point_latest(parent, name);
  return folder.string();
}

}  // namespace bp::launcher
