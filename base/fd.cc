#include "base/fd.h"

#include <unistd.h>

#include <cerrno>

namespace bp {

void Fd::reset() {
  // Not retried on EINTR: on Linux the descriptor is gone either way, and may already be another's.
  if (fd_ >= 0) {
    ::close(std::exchange(fd_, -1));
  }
}

std::size_t write_all(int fd, const void* data, std::size_t size) {
  const auto* const bytes = static_cast<const char*>(data);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t written = ::write(fd, bytes + done, size - done);
    if (written < 0 && errno != EINTR) {
      break;
    }
    done += written < 0 ? 0 : static_cast<std::size_t>(written);
  }
  return done;
}

}  // namespace bp
