#include "launcher/report/sink.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

namespace bp::launcher {

Sink::Sink(EventLoop& loop, int fd, std::function<void()> changed)
    : loop_(loop), fd_(fd), changed_(std::move(changed)) {
  struct stat status = {};
  regular_file_ = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

Sink::~Sink() {
  if (watched_) {
    loop_.forget(fd_);
  }
}

// A pipe or terminal that poll calls writable takes PIPE_BUF bytes without waiting.
bool Sink::write_piece() {
  pollfd state{fd_, POLLOUT, 0};
  if (!regular_file_ && ::poll(&state, 1, 0) != 1) {
    return false;
  }
  const std::size_t size = regular_file_ ? pending() : std::min<std::size_t>(pending(), PIPE_BUF);
  const char* data = pending_.data() + written_;
  ssize_t written = ::send(fd_, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (written < 0 && errno == ENOTSOCK) {
    written = ::write(fd_, data, size);
  }
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) {
    return errno == EINTR;
  }
  if (written < 0) {
    broken_ = true;
    written_ = pending_.size();
  } else {
    written_ += static_cast<std::size_t>(written);
  }
  if (pending() == 0) {
    pending_.clear();
    written_ = 0;
  }
  return pending() != 0;
}

void Sink::write(std::string_view text) {
  if (text.empty() || broken_) {
    return;
  }
  at_line_start_ = text.back() == '\n';
  pending_ += text;
  if (watched_) {
    return;  // full before, so still
  }
  while (write_piece()) {
  }
  if (pending() != 0) {
    watched_ = true;
    loop_.watch(fd_, POLLOUT, [this](short) {
      while (write_piece()) {
      }
      if (pending() == 0) {
        loop_.forget(fd_);
        watched_ = false;
      }
      changed_();
    });
  } else if (broken_) {
    changed_();
  }
}

}  // namespace bp::launcher
