// A process beside an agent on another machine. It kills the agent and what that has started when
// the agent itself is stopped or hangs: bprun has given up the host by then, and no other process
// there would end the ranks.
#pragma once

#include <sys/types.h>

#include <chrono>

#include "base/fd.h"

namespace bp::launcher {

class Watchdog {
 public:
  // `limit`: how long the agent may give no sign. Throws io where there can be no such process.
  explicit Watchdog(std::chrono::milliseconds limit);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void calm() const;  // the agent is alive
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  Fd pipe_;
  pid_t pid_ = -1;
};

}  // namespace bp::launcher
