#include "comm/shared/presence.h"

#include <fcntl.h>

#include "base/text.h"

namespace bp {
namespace {

struct flock byte_of(int rank) {
  struct flock lock = {};  // l_pid must be 0
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = rank;
  lock.l_len = 1;
  return lock;
}

}  // namespace

Presence::Presence(const SharedMemory& memory, int rank)
    : file_(::open(concat("/proc/self/fd/", memory.file().get()).c_str(), O_RDWR | O_CLOEXEC)),
      rank_(rank) {
  struct flock own = byte_of(rank);
  if (!file_ || ::fcntl(file_.get(), F_OFD_SETLK, &own) != 0) file_.reset();
}

bool Presence::is_gone(int rank) const {
  struct flock other = byte_of(rank);
  return rank != rank_ && file_ && ::fcntl(file_.get(), F_OFD_GETLK, &other) == 0 &&
         other.l_type == F_UNLCK;
}

}  // namespace bp
