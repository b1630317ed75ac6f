#include "launcher/process/pump.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "launcher/process/spawn.h"

namespace bp::launcher {
namespace {

constexpr std::size_t kPumpSize = std::size_t{64} << 10;

}  // namespace

FdSource::FdSource(EventLoop& loop, Fd fd, std::function<void(std::string_view)> on_bytes)
    : loop_(loop), fd_(std::move(fd)), on_bytes_(std::move(on_bytes)) {
  set_nonblocking(fd_.get());
  loop_.watch(fd_.get(), POLLIN, [this](short) { read_some(); });
}

void FdSource::close() {
  if (fd_) {
    loop_.forget(fd_.get());
    fd_.reset();
  }
}

void FdSource::drain() {
  while (fd_ && read_some()) {
  }
}

bool FdSource::read_some() {
  std::array<char, kPumpSize> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const ssize_t got = ::read(fd_.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return false;
  }
  if (got <= 0) {
    close();
    const auto on_bytes = on_bytes_;  // the callee may destroy this
    on_bytes({});
    return false;
  }
  on_bytes_({buffer.data(), static_cast<std::size_t>(got)});
  return true;
}

FdSink::FdSink(EventLoop& loop, Fd fd, std::function<void(std::size_t)> taken)
    : loop_(loop), fd_(std::move(fd)), taken_(std::move(taken)) {
  set_nonblocking(fd_.get());
  loop_.watch(fd_.get(), 0, [this](short) { write_some(); });
}

void FdSink::write(std::string_view bytes) {
  if (!fd_) {
    taken_(bytes.size());
    return;
  }
  pending_ += bytes;
  write_some();
}

void FdSink::close_when_written() {
  closing_ = true;
  if (fd_) write_some();
}

void FdSink::close() {
  if (fd_) {
    loop_.forget(fd_.get());
    fd_.reset();
  }
}

void FdSink::write_some() {
  std::size_t done = 0;
  bool broken = false;
  while (done < pending_.size() && !broken) {
    const ssize_t written = ::write(fd_.get(), pending_.data() + done, pending_.size() - done);
    if (written < 0 && errno == EAGAIN) break;
    broken = written < 0 && errno != EINTR;  // no process reads it any more
    done =
        broken ? pending_.size() : done + static_cast<std::size_t>(std::max<ssize_t>(written, 0));
  }
  pending_.erase(0, done);
  if (broken || (pending_.empty() && closing_)) {
    close();
  } else {
    loop_.set_events(fd_.get(), pending_.empty() ? short{0} : short{POLLOUT});
  }
  if (done > 0) taken_(done);
}

}  // namespace bp::launcher
