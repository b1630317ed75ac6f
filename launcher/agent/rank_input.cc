#include "launcher/agent/rank_input.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "launcher/process/spawn.h"

namespace bp::launcher {

RankInput::RankInput(EventLoop& loop, Fd pipe, std::function<void(std::uint32_t)> taken)
    : loop_(loop), pipe_(std::move(pipe)), taken_(std::move(taken)) {
  set_nonblocking(pipe_.get());
  loop_.watch(pipe_.get(), 0, [this](short) { write_some(); });
}

void RankInput::push(std::string_view data) {
  if (!pipe_) {
    taken_(static_cast<std::uint32_t>(data.size()));  // the rank has closed its stdin
    return;
  }
  ended_ |= data.empty();
  pending_ += data;
  write_some();
}

void RankInput::write_some() {
  while (!pending_.empty()) {
    const ssize_t written = ::write(pipe_.get(), pending_.data(), pending_.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0 && errno == EAGAIN) {
      loop_.set_events(pipe_.get(), POLLOUT);
      return;
    }
    if (written < 0) {
      close();
      taken_(static_cast<std::uint32_t>(pending_.size()));
      pending_.clear();
      return;
    }
    pending_.erase(0, static_cast<std::size_t>(written));
    taken_(static_cast<std::uint32_t>(written));
  }
  if (ended_) {
    close();
  } else {
    loop_.set_events(pipe_.get(), 0);
  }
}

void RankInput::close() {
  if (pipe_) {
    loop_.forget(pipe_.get());
    pipe_.reset();
  }
}

}  // namespace bp::launcher
