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
  if (::fstat(fd, &status) == 0) {
    regular_file_ = S_ISREG(status.st_mode);
    socket_ = S_ISSOCK(status.st_mode);
  }
}

Sink::~Sink() {
  if (watched_) {
    loop_.forget(fd_);
  }
}

// How much could be written without waiting. A pipe or terminal that poll calls writable takes
// PIPE_BUF bytes.
std::size_t Sink::write_now(std::string_view text) {
  std::size_t done = 0;
  while (done < text.size() && !broken_) {
    pollfd state{fd_, POLLOUT, 0};
    if (!regular_file_ && ::poll(&state, 1, 0) != 1) {
      break;
    }
    const char* data = text.data() + done;
    const std::size_t left = text.size() - done;
    const std::size_t size = regular_file_ ? left : std::min<std::size_t>(left, PIPE_BUF);
    const ssize_t written =
        socket_ ? ::send(fd_, data, size, MSG_DONTWAIT | MSG_NOSIGNAL) : ::write(fd_, data, size);
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      broken_ = true;
    }
  }
  return done;
}

void Sink::write_pending() {
  written_ += write_now(std::string_view(pending_).substr(written_));
  if (broken_) {
    written_ = pending_.size();
  }
  // What is out is cut off now and then, as pending() may never come to 0 for hours.
  if (2 * written_ >= pending_.size()) {
    pending_.erase(0, written_);
    written_ = 0;
  }
}

void Sink::write(std::string_view text) {
  if (text.empty() || broken_) {
    return;
  }
  at_line_start_ = text.back() == '\n';
  if (!watched_) {  // else it was full before, and still is
    text.remove_prefix(write_now(text));
  }
  if (broken_) {
    changed_();
    return;
  }
  pending_ += text;
  if (pending() != 0 && !watched_) {
    watched_ = true;
    loop_.watch(fd_, POLLOUT, [this](short) {
      write_pending();
      if (pending() == 0) {
        loop_.forget(fd_);
        watched_ = false;
      }
      changed_();
    });
  }
}

}  // namespace bp::launcher
