#include "launcher/process/own_pause.h"

#include <time.h>

#include <utility>

namespace bp::launcher {

std::chrono::nanoseconds OwnPause::now() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::optional<std::chrono::milliseconds> OwnPause::look(std::chrono::milliseconds limit) {
  const auto here = now();
  const auto pause =
      std::chrono::floor<std::chrono::milliseconds>(here - std::exchange(last_look_, here));
  return pause > limit ? std::optional(pause) : std::nullopt;
}

}  // namespace bp::launcher
