#include "trainer/data/stream_input.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/text.h"
#include "trainer/data/stop_signals.h"

namespace bp::trainer {
namespace {

// Returns whether a read would not wait: bytes, the end or an error are there.
bool is_ready(int descriptor, int milliseconds) {
  struct pollfd place = {descriptor, POLLIN, 0};
  return ::poll(&place, 1, milliseconds) > 0;
}

}  // namespace

StreamInput::StreamInput(int descriptor, std::string name, std::function<void()> before_waiting)
    : descriptor_(descriptor), name_(std::move(name)), before_waiting_(std::move(before_waiting)) {}

std::size_t StreamInput::read_next(std::span<char> room) {
  for (;;) {
    if (!is_ready(descriptor_, 0)) wait();
    const ssize_t count = ::read(descriptor_, room.data(), room.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR && errno != EAGAIN) {
      throw BrokenInput(66, concat("it cannot be read: ", error_text(errno)),
                        "is the program that writes it still there?");
    }
  }
}

void StreamInput::wait() {
  constexpr int kBetweenLooks = 200;  // milliseconds
  before_waiting_();
  while (!is_ready(descriptor_, kBetweenLooks)) throw_if_stopping("reading", name_);
}

}  // namespace bp::trainer
