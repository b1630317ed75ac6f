#include "launcher/report/sink.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <system_error>
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

std::string Sink::name() const {
  std::error_code error;
  const std::string target =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd_), error).string();
  return target.starts_with('/') ? target : "";
}

long Sink::write_piece(std::string_view text) const {
  return socket_ ? ::send(fd_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                 : ::write(fd_, text.data(), text.size());
}

// Returns how many bytes it wrote without blocking, or gave up. It writes at most PIPE_BUF bytes at
// a time: a pipe or terminal that poll() reports as writable takes that many.
std::size_t Sink::write_now(std::string_view text) {
  std::size_t done = 0;
  while (done < text.size() && !broken_) {
    pollfd state{fd_, POLLOUT, 0};
    if (!regular_file_ && ::poll(&state, 1, 0) != 1) {
      break;
    }
    if (torn_ && write_piece("\n") == 1) {
      torn_ = false;
    }
    const std::size_t left = text.size() - done;
    const std::size_t size = regular_file_ ? left : std::min<std::size_t>(left, PIPE_BUF);
    const long written = write_piece(text.substr(done, size));
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno == EPIPE || errno == ECONNRESET) {
      broken_ = true;
    } else if (errno != EINTR) {
      torn_ = torn_ || (done > 0 && text[done - 1] != '\n');
      return done + give_up(text.substr(done), errno);
    }
  }
  return done;
}

std::size_t Sink::give_up(std::string_view text, int error) {
  lost_ += text.size();
  error_ = error_ == 0 ? error : error_;
  return text.size();
}

void Sink::write_pending() {
  written_ += write_now(std::string_view(pending_).substr(written_));
  if (broken_) {
    written_ = pending_.size();
  }
  // Drops the written part from time to time, because pending() may not reach 0 for hours.
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
  if (!watched_) {  // if it is watched, it was full and still is
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
