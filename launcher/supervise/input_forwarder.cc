#include "launcher/supervise/input_forwarder.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "launcher/protocol/agent_messages.h"

namespace bp::launcher {
namespace {

bool in_background_of_terminal(int fd) {
  return ::isatty(fd) == 1 && ::tcgetpgrp(fd) != ::getpgrp();
}

}  // namespace

InputForwarder::InputForwarder(EventLoop& loop, int fd, std::function<void(std::string)> send)
    : loop_(loop), fd_(fd), send_(std::move(send)) {
  loop_.watch(fd_, POLLIN, [this](short) { read_some(); });
  if (in_background_of_terminal(fd_)) {
    loop_.set_events(fd_, 0);
  }
}

void InputForwarder::read_some() {
  std::array<char, 64U << 10U> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const std::size_t room = std::min<std::size_t>(buffer.size(), kStdinWindow - in_flight_);
  const ssize_t got = ::read(fd_, buffer.data(), room);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (got <= 0) {
    stop();
    send_("");
    return;
  }
  in_flight_ += static_cast<std::uint32_t>(got);
  if (in_flight_ == kStdinWindow) {
    loop_.set_events(fd_, 0);
  }
  send_(std::string(buffer.data(), static_cast<std::size_t>(got)));
}

void InputForwarder::taken(std::uint32_t bytes) {
  in_flight_ -= std::min(bytes, in_flight_);
  if (open_ && bytes > 0) {
    loop_.set_events(fd_, in_background_of_terminal(fd_) ? short{0} : short{POLLIN});
  }
}

void InputForwarder::stop() {
  if (std::exchange(open_, false)) {
    loop_.forget(fd_);
  }
}

}  // namespace bp::launcher
