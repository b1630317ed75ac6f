#include "launcher/agent/rank_output.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "launcher/process/spawn.h"

namespace bp::launcher {

RankOutput::RankOutput(EventLoop& loop,
                       OutputWindow& window,
                       std::function<void(Output)> send,
                       int rank,
                       Stream stream,
                       Fd pipe)
    : loop_(loop),
      window_(window),
      send_(std::move(send)),
      rank_(rank),
      stream_(stream),
      pipe_(std::move(pipe)) {
  set_nonblocking(pipe_.get());
  loop_.watch(pipe_.get(), POLLIN, [this](short) { static_cast<void>(read_some()); });
}

bool RankOutput::read_some() {
  std::array<char, 64U << 10U> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const std::size_t room = std::min<std::size_t>(buffer.size(), window_.left());
  if (room == 0) {
    update_interest();
    return false;
  }
  const ssize_t got = ::read(pipe_.get(), buffer.data(), room);
  if (got > 0) {
    window_.use(static_cast<std::uint32_t>(got));
    send_({rank_, stream_, std::string(buffer.data(), static_cast<std::size_t>(got))});
    return true;
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    if (finishing_) {
      end();
    }
    return false;
  }
  end();
  return false;
}

void RankOutput::drain() {
  while (pipe_ && read_some()) {
  }
}

void RankOutput::finish() {
  finishing_ = true;
  drain();
}

void RankOutput::update_interest() {
  if (!pipe_) {
    return;
  }
  loop_.set_events(pipe_.get(), window_.left() == 0 ? short{0} : short{POLLIN});
  if (finishing_ && window_.left() != 0) {
    drain();
  }
}

void RankOutput::end() {
  close();
  send_({rank_, stream_, ""});
}

void RankOutput::close() {
  if (pipe_) {
    loop_.forget(pipe_.get());
    pipe_.reset();
  }
}

}  // namespace bp::launcher
