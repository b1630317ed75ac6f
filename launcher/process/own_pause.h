// Notices that this process was stopped by a signal, or that its machine slept.
#pragma once

#include <chrono>
#include <optional>

namespace bp::launcher {

class OwnPause {
 public:
  OwnPause() : last_look_(now()) {}
  // Returns the time since the last call if it is more than `limit`.
  [[nodiscard]] std::optional<std::chrono::milliseconds> look(std::chrono::milliseconds limit);

 private:
  // Reads a clock that counts while the machine sleeps, unlike std::chrono::steady_clock.
  [[nodiscard]] static std::chrono::nanoseconds now();

  std::chrono::nanoseconds last_look_;
};

}  // namespace bp::launcher
