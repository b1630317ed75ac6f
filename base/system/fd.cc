#include "base/system/fd.h"

#include <unistd.h>

#include <cerrno>

namespace bp {

void Fd::reset() {
  // close() is not retried on EINTR: Linux has released the number by then, and another thread may
  // already use it.
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
