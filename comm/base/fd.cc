#include "comm/base/fd.h"

#include <unistd.h>

namespace bp {

void Fd::reset() {
  // Not retried on EINTR: on Linux the descriptor is gone either way, and may already be another's.
  if (fd_ >= 0) {
    ::close(std::exchange(fd_, -1));
  }
}

}  // namespace bp
