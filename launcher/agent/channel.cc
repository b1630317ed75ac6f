#include "launcher/agent/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "comm/store/keepalive.h"
#include "launcher/process/spawn.h"

namespace bp::launcher {
namespace {

constexpr std::size_t kReadSize = 256U << 10U;
constexpr std::size_t kMaxPreamble = 64U << 10U;

}  // namespace

Channel::Channel(EventLoop& loop, Ends ends, Listener listener)
    : loop_(loop),
      in_(std::move(ends.in)),
      out_(std::move(ends.out)),
      await_magic_(ends.await_magic),
      seal_(std::move(ends.seal)),
      listener_(std::move(listener)) {
  set_nonblocking(in_.get());
  set_nonblocking(out_.get());
  loop_.watch(in_.get(), POLLIN, [this](short) { read_some(); });
  loop_.watch(out_.get(), 0, [this](short) { write_some(); });
}

Channel::~Channel() { close(); }

void Channel::close() {
  if (in_) {
    loop_.forget(in_.get());
    in_.reset();
  }
  if (out_) {
    loop_.forget(out_.get());
    out_.reset();
  }
}

void Channel::outlast(std::chrono::milliseconds outage) {
  if (seal_) {
    prepare_store_socket(in_.get(), outage);
  }
}

void Channel::fail(const std::string& problem) {
  close();
  // Moved out first: the listener may destroy this channel.
  const auto on_closed = std::move(listener_.on_closed);
  on_closed(problem);
}

void Channel::send(std::string bytes) {
  if (!out_) {
    return;
  }
  if (seal_) {
    bytes = seal_->seal(bytes);
  }
  if (all_sent()) {
    pending_ = std::move(bytes);
    sent_ = 0;
  } else {
    pending_.erase(0, std::exchange(sent_, 0));
    pending_ += bytes;
  }
  write_some();
}

void Channel::write_some() {
  while (!all_sent()) {
    const ssize_t written = ::write(out_.get(), pending_.data() + sent_, pending_.size() - sent_);
    if (written < 0 && errno == EAGAIN) {
      break;
    }
    if (written < 0 && errno != EINTR) {
      // The other end has closed the connection. Reading will notice that after its last frames.
      sent_ = pending_.size();
      break;
    }
    sent_ += written > 0 ? static_cast<std::size_t>(written) : 0;
  }
  loop_.set_events(out_.get(), all_sent() ? short{0} : short{POLLOUT});
}

void Channel::read_some() {
  std::array<char, kReadSize> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const ssize_t got = ::read(in_.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (got <= 0) {
    fail("");
    return;
  }
  last_heard_ = EventLoop::Clock::now();
  try {
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    seal_ ? handle_bytes(seal_->open(bytes)) : handle_bytes(bytes);
  } catch (const Error& error) {
    fail(error.what());
  }
}

Channel::Ends standard_ends() {
  Channel::Ends ends{.in = Fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)),
                     .out = Fd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3))};
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!ends.in || !ends.out || !null) {
    throw Error(ErrorCode::io, concat("cannot move the connection: ", error_text(errno)));
  }
  ::dup2(null.get(), STDIN_FILENO);
  ::dup2(null.get(), STDOUT_FILENO);
  return ends;
}

void Channel::handle_bytes(std::string_view bytes) {
  if (await_magic_) {
    preamble_ += bytes;
    const std::size_t magic = preamble_.find(kAgentMagic);
    if (magic == std::string::npos) {
      if (preamble_.size() > kMaxPreamble) {
        throw Error(ErrorCode::io, "its shell prints without end before bprun can start");
      }
      return;
    }
    await_magic_ = false;
    reader_.feed(std::string_view(preamble_).substr(magic + kAgentMagic.size()));
    preamble_.resize(magic);
  } else {
    reader_.feed(bytes);
  }
  // A handler may close the channel.
  while (in_) {
    const auto frame = reader_.next();
    if (!frame) {
      return;
    }
    listener_.on_frame(*frame);
  }
}

}  // namespace bp::launcher
