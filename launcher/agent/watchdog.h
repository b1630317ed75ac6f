// A process beside an agent on another machine than bprun's. If the agent is stopped or hangs, it
// kills the agent and all processes below it: bprun then counts the host as lost, and no other
// process there would end the ranks.
#pragma once

#include <sys/types.h>

#include <chrono>

#include "base/system/fd.h"

namespace bp::launcher {

class Watchdog {
 public:
  // Kills once calm() has not been called for `limit`. Throws io if the process cannot be started.
  explicit Watchdog(std::chrono::milliseconds limit);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void calm() const;  // tells it that the agent is alive
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  Fd pipe_;
  pid_t pid_ = -1;
};

}  // namespace bp::launcher
