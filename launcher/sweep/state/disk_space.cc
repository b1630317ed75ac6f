#include "launcher/sweep/state/disk_space.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/system/fd.h"
#include "base/text.h"

namespace bp::launcher::sweep {
namespace {

// More than the block of any usual file system, so that the last free bytes of one do not count.
constexpr std::size_t kProbe = std::size_t{64} << 10;

std::string no_space_in(const std::string& folder, int error) {
  return concat("cannot write into ", folder, ": ", error_text(error));
}

}  // namespace

// A file system that reports no blocks at all does not know.
std::optional<std::string> why_full(const std::string& folder) {
  struct statvfs disk = {};
  if (::statvfs(folder.c_str(), &disk) != 0 || disk.f_blocks == 0) {
    return std::nullopt;
  }
  const bool full = (::geteuid() == 0 ? disk.f_bfree : disk.f_bavail) == 0;
  return full ? std::optional(no_space_in(folder, ENOSPC)) : std::nullopt;
}

std::optional<std::string> why_not_writable(const std::string& folder) {
  const std::string path = folder + "/space.part";
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) {
    return no_space_in(folder, errno);
  }
  const std::vector<char> bytes(kProbe);
  const bool written = write_all(file.get(), bytes.data(), bytes.size()) == bytes.size();
  const int error = errno;
  ::unlink(path.c_str());
  return written ? std::nullopt : std::optional(no_space_in(folder, error));
}

}  // namespace bp::launcher::sweep
