#include "launcher/sweep/state/folder_lock.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>

#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher::sweep {
namespace {

struct flock exclusive() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::string lock_file(const std::string& folder) { return folder + "/sweep.lock"; }

}  // namespace

FolderLock::FolderLock(const std::string& folder)
    : file_(::open(lock_file(folder).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (!file_) {
    throw Error(ErrorCode::io, concat("cannot write ", lock_file(folder), ": ", error_text(errno)));
  }
  struct flock lock = exclusive();
  if (::fcntl(file_.get(), F_SETLK, &lock) == 0) {
    return;
  }
  if (errno != EACCES && errno != EAGAIN) {
    throw Error(ErrorCode::io, concat("cannot lock ", lock_file(folder), ": ", error_text(errno)));
  }
  const auto pid = holder(folder);
  throw Error(ErrorCode::unavailable,
              concat("a sweep runs in ", folder, " already",
                     pid && *pid > 0 ? concat(" (process ", *pid, ")") : std::string(),
                     "; wait for it, end it with bprun sweep stop ", folder,
                     ", or choose another --folder"));
}

std::optional<pid_t> FolderLock::holder(const std::string& folder) {
  const Fd file(::open(lock_file(folder).c_str(), O_RDONLY | O_CLOEXEC));
  struct flock lock = exclusive();
  lock.l_type = F_RDLCK;  // all that a file opened for reading may ask about
  if (!file || ::fcntl(file.get(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) {
    return std::nullopt;
  }
  return lock.l_pid;
}

}  // namespace bp::launcher::sweep
