#include "launcher/process/file_lock.h"

#include <fcntl.h>

#include <cerrno>

#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {
namespace {

struct flock whole_file(short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

[[noreturn]] void cannot(const char* what, const std::string& path) {
  throw Error(ErrorCode::io, concat("cannot ", what, " ", path, ": ", error_text(errno)));
}

}  // namespace

FileLock::FileLock(const std::string& path)
    : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (!file_) cannot("write", path);
  struct flock lock = whole_file(F_WRLCK);
  taken_ = ::fcntl(file_.get(), F_SETLK, &lock) == 0;
  if (!taken_ && errno != EACCES && errno != EAGAIN) cannot("lock", path);
}

std::optional<pid_t> FileLock::holder(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // All that a file opened for reading may ask about.
  struct flock lock = whole_file(F_RDLCK);
  if (!file || ::fcntl(file.get(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) {
    return std::nullopt;
  }
  return lock.l_pid;
}

}  // namespace bp::launcher
