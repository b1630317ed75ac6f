// Notices that this process stood still: stopped by a signal, or its machine slept.
#pragma once

#include <chrono>
#include <optional>

namespace bp::launcher {

class OwnPause {
 public:
  OwnPause() : last_look_(now()) {}
  // How long the pause was, if more than `limit` has passed since the last look.
  [[nodiscard]] std::optional<std::chrono::milliseconds> look(std::chrono::milliseconds limit);

 private:
  // Of a clock that counts the sleep of the machine, unlike std::chrono::steady_clock.
  [[nodiscard]] static std::chrono::nanoseconds now();

  std::chrono::nanoseconds last_look_;
};

}  // namespace bp::launcher
